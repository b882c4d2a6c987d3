package quant

import "math"

// small is the elements of a block of the types with one scale.
const small = 32

// furthest is the element with the largest absolute value, the first of
// several, with its sign. finite is false where an element is NaN or infinite.
func furthest(x *[small]float32) (far float32, finite bool) {
	most := uint32(0) // bits of |far|: they order as the numbers do, NaN above Inf
	for _, v := range x {
		if b := math.Float32bits(v) &^ (1 << 31); b > most {
			most, far = b, v
		}
	}
	return far, most < 0x7f800000
}

// extremes are the smallest and the largest element.
func extremes(x *[small]float32) (least, most float32, finite bool) {
	least, most = x[0], x[0]
	for _, v := range x {
		least, most = min(least, v), max(most, v) // NaN if one is
	}
	return least, most, most-most == 0 && least-least == 0
}

// inverse is 1/d, and 0 for 0.
func inverse(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// code cuts to an integer in 0..top. NaN, which only a block whose scale is
// zero or infinite can bring here, is 0.
func code(x float32, top int32) uint8 {
	if !(x > 0) {
		return 0
	}
	return uint8(int32(min(x, float32(top))))
}

var nan = float32(math.NaN())
