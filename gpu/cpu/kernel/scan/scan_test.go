package scan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

func TestPeakFindAndAtLeast(t *testing.T) {
	kerneltest.LevelsAndSizes(t, func(t *testing.T, l simd.Level, r *rand.Rand, n int) {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.IntN(50)) - 60 // ties, all negative
		}
		want := 0
		for i, v := range x {
			if v > x[want] {
				want = i
			}
		}
		peak, nan := Max(l, x)
		if peak != x[want] || nan {
			t.Fatalf("%d elements: the largest is %v (NaN: %v), want %v", n, peak, nan, x[want])
		}
		if got := Index(l, x, peak); got != want {
			t.Fatalf("%d elements: found at %d, want %d", n, got, want)
		}
		if got := Index(l, x, 3); got != n {
			t.Fatalf("%d elements: a missing value is found at %d", n, got)
		}
		ids := make([]int32, n)
		bound := float32(r.IntN(60)) - 65
		count := AtLeast(l, x, bound, ids)
		k := 0
		for i, v := range x {
			if v >= bound {
				if k >= count || ids[k] != int32(i) {
					t.Fatalf("%d elements: %v at least %v, want %d at %d", n, ids[:count], bound, i, k)
				}
				k++
			}
		}
		if k != count {
			t.Fatalf("%d elements: %d at least %v, want %d", n, count, bound, k)
		}
		x[r.IntN(n)] = float32(math.NaN())
		if _, nan := Max(l, x); !nan {
			t.Fatalf("%d elements: NaN is not reported", n)
		}
	})
}

func TestSumExp(t *testing.T) {
	kerneltest.LevelsAndSizes(t, func(t *testing.T, l simd.Level, r *rand.Rand, n int) {
		x := make([]float32, n)
		for i := range x {
			x[i] = 30 * (r.Float32() - 1)
			if r.IntN(9) == 0 {
				x[i] *= 100
			}
		}
		if n > 2 {
			x[n/2] = float32(math.Inf(-1))
		}
		highest, _ := Max(l, x)
		inverse := 1 / float64(r.Float32()+0.1)
		var want float64
		for _, v := range x {
			want += math.Exp((float64(v) - float64(highest)) * inverse)
		}
		if got := SumExp(l, x, float64(highest), inverse); math.Abs(got-want) > 1e-11*want {
			t.Fatalf("%d elements: %v, want %v", n, got, want)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	logits, ids := kerneltest.Guarded(r, 151_936)[:151_936], make([]int32, 151_936)
	for _, l := range kerneltest.VectorLevels() {
		for name, run := range map[string]func(){
			"max":     func() { Max(l, logits) },
			"index":   func() { Index(l, logits, 99) },
			"atleast": func() { AtLeast(l, logits, 3.99, ids) },
			"sumexp":  func() { SumExp(l, logits, 4, 1.25) },
		} {
			b.Run(fmt.Sprintf("%s-151936/%s", name, l), func(b *testing.B) {
				for b.Loop() {
					run()
				}
			})
		}
	}
}
