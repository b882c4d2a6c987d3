package gputest

import (
	"fmt"
	"math"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// Tolerance of logits against gpu/ref, relative to 1 + the largest logit of
// the row. Both round to float32 after each op, ref sums in float64: an F32
// pool leaves some ten units in the last place per layer. With another pool an
// element next to a rounding border may fall to either side, so there it is a
// part of that type's own precision (2^-11, 2^-8; 1/127 of a vector's furthest
// element for int8, of which few are near a border).
//
// Quantised weights are exact numbers and allow no more. A device that says so
// (gpu.Numerics) rounds more: in weights kept as q8_0 the error has a deviation
// of 0.5 % of the weights' own, and activations in int8 move by as much in each
// of the products that follow each other. The reference with its activations
// rounded so is up to 4.3e-2 away from itself on the models of the suite. Inputs of
// products, queries and attention weights that are rounded to 16 bits add some of that
// type's precision in each layer.
func Tolerance(n gpu.Numerics, weights, kv gpu.DType) float64 {
	t := 1e-5
	switch kv {
	case gpu.F16:
		t = 1e-3
	case gpu.BF16:
		t = 8e-3
	case gpu.I8:
		t = 8e-3
	}
	if slices.Contains(n.Requantised, weights) {
		t += 2e-2
	}
	if n.Int8Activations && weights.Quantised() {
		t += 8e-2
	}
	return t + rounding(n.Inputs, weights) + rounding(n.Attention, kv)
}

// rounding is what rounding adds to a tolerance, by the type of weights or of a pool.
func rounding(to map[gpu.DType]gpu.DType, of gpu.DType) float64 {
	switch to[of] {
	case gpu.F16:
		return 2e-3
	case gpu.BF16:
		return 1.6e-2
	}
	return 0
}

// near compares rows of logits under a tolerance.
func near(got, want [][]float32, tolerance float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d rows of logits, want %d", len(got), len(want))
	}
	for i := range want {
		if len(got[i]) != len(want[i]) {
			return fmt.Errorf("row %d has %d logits, want %d", i, len(got[i]), len(want[i]))
		}
		largest := 1.0
		for _, x := range want[i] {
			largest = max(largest, 1+math.Abs(float64(x)))
		}
		for j, x := range want[i] {
			if d := math.Abs(float64(got[i][j]) - float64(x)); !(d <= tolerance*largest) {
				return fmt.Errorf("row %d, token %d: logit %v, want %v within %.2g", i, j, got[i][j], x, tolerance*largest)
			}
		}
	}
	return nil
}

// Same compares rows of logits bit for bit.
func Same(got, want [][]float32) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d rows of logits, want %d", len(got), len(want))
	}
	for i := range want {
		for j, x := range want[i] {
			if math.Float32bits(got[i][j]) != math.Float32bits(x) {
				return fmt.Errorf("row %d, token %d: logit %v (%08x), want exactly %v (%08x)", i, j,
					got[i][j], math.Float32bits(got[i][j]), x, math.Float32bits(x))
			}
		}
	}
	return nil
}
