package expf

import (
	"math"
	"testing"

	"github.com/troupe-engine/troupe/testkit/kerneltest"
)

func TestOf(t *testing.T) {
	x := make([]float32, 1)
	worst := 0.0
	for v := float32(-86.99); v < 88; v += 0.00137 {
		x[0] = v
		Of(x)
		worst = max(worst, kerneltest.Off(x[0], math.Exp(float64(v)), math.Exp(float64(v))))
	}
	if worst > 2.5e-7 {
		t.Errorf("largest relative error is %.3g", worst)
	}
	inf := float32(math.Inf(1))
	for v, want := range map[float32]float32{0: 1, -inf: 0, -200: 0, 200: inf, inf: inf} {
		x[0] = v
		if Of(x); x[0] != want {
			t.Errorf("e^%v = %v, want %v", v, x[0], want)
		}
	}
	x[0] = inf - inf
	if Of(x); x[0] == x[0] {
		t.Errorf("e^NaN = %v", x[0])
	}
}
