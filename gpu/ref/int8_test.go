package ref_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/gpu/ref"
)

func TestInt8ByHand(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for name, c := range map[string]struct {
		in    []float32
		codes []int8
		scale float32 // NaN: it must be NaN
	}{
		// 127/absmax is 0.5: ties go to the even code.
		"ties":     {[]float32{254, -254, 1, 3, -1, -3, 5}, []int8{127, -127, 0, 2, 0, -2, 2}, 2},
		"zeros":    {[]float32{0, 0}, []int8{0, 0}, 0},
		"tiny":     {[]float32{1e-36, -1e-40}, []int8{0, 0}, 0},
		"NaN":      {[]float32{1, nan, 3}, []int8{0, 0, 0}, nan},
		"infinite": {[]float32{1, -inf}, []int8{0, 0}, nan},
		"largest":  {[]float32{math.MaxFloat32, 0}, []int8{127, 0}, math.MaxFloat32 / 127},
		"nothing":  {nil, nil, 0},
	} {
		codes := make([]int8, len(c.in))
		scale := ref.QuantizeI8(codes, c.in)
		if scale != c.scale && !(scale != scale && c.scale != c.scale) || !slices.Equal(codes, c.codes) && len(c.codes) > 0 {
			t.Errorf("%s: %v scaled by %v, want %v by %v", name, codes, scale, c.codes, c.scale)
		}
	}
}

// No element moves by more than half a step and what rounding in float32 adds,
// and the furthest one gets the code 127 or -127.
func TestInt8StaysWithinHalfAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float32Range(-1, 1), 1, 130).Draw(t, "elements")
		factor := float32(math.Ldexp(1, rapid.IntRange(-100, 120).Draw(t, "exponent")))
		absmax := float32(0)
		for i := range x {
			x[i] *= factor
			absmax = max(absmax, float32(math.Abs(float64(x[i]))))
		}
		if absmax < 0x1p-119 {
			t.Skip("stored as zeros")
		}
		codes, y := make([]int8, len(x)), make([]float32, len(x))
		scale := ref.QuantizeI8(codes, x)
		ref.DequantizeI8(y, codes, scale)
		for i := range x {
			if diff := math.Abs(float64(y[i]) - float64(x[i])); diff > float64(absmax)/254*(1+1e-4) {
				t.Fatalf("%v of at most %v comes back as %v", x[i], absmax, y[i])
			}
			if far := math.Abs(float64(x[i])) == float64(absmax); far && codes[i] != 127 && codes[i] != -127 {
				t.Fatalf("the furthest element, %v, has code %d", x[i], codes[i])
			}
		}
	})
}
