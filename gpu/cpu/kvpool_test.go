package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/convert"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/gpu/ref"
)

// The reference and this device must agree on what a pool of int8 holds.
func TestQuantizeI8IsThatOfTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	inf := float32(math.Inf(1))
	for n := 1; n <= 130; n++ {
		for _, size := range []float32{1, 1e-30, 3e-37, 1e-40, 1e38, 0} {
			x := make([]float32, n)
			for i := range x {
				x[i] = size * float32(r.NormFloat64())
				if r.IntN(4) == 0 { // next to what is halfway
					x[i] = size * (float32(r.IntN(254)-127) + 0.5) / 127
				}
			}
			switch r.IntN(12) {
			case 0:
				x[r.IntN(n)] = -inf
			case 1:
				x[r.IntN(n)] = inf - inf
			}
			want := make([]int8, n)
			scale := ref.QuantizeI8(want, x)
			for _, l := range simd.Levels() {
				got := make([]int8, n)
				s := convert.QuantizeI8(l, got, x)
				if !slices.Equal(got, want) || s != scale && (s == s || scale == scale) {
					t.Fatalf("%s: %v becomes %v x %v, want %v x %v", l, x, s, got, scale, want)
				}
			}
		}
	}
}
