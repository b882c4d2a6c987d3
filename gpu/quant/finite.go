package quant

import (
	"encoding/binary"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// The bits of exponents, side by side in 64 bits. A number is NaN or infinite
// when all of its own are set, which is when adding the lowest one carries into
// the sign, whose bit the mask has cleared.
const (
	exponentsF32  = 0x7f800000_7f800000
	exponentsF16  = 0x7c00_7c00_7c00_7c00
	exponentsBF16 = 0x7f80_7f80_7f80_7f80
	carriesF32    = 0x00800000_00800000
	carriesF16    = 0x0400_0400_0400_0400
	carriesBF16   = 0x0080_0080_0080_0080
	signs         = 0x8000_8000_8000_8000 // of 16 bits; of 32 bits every other one
)

// Finite reports whether all numbers in whole blocks of a weight type are finite. For
// types in blocks it looks only at scales and minimums: what they are multiplied with
// is finite. A block with such a scale is refused even if all of its codes are zero.
func Finite(d gpu.DType, src []byte) bool {
	switch d {
	case gpu.F32:
		return finite(src, exponentsF32, carriesF32)
	case gpu.F16:
		return finite(src, exponentsF16, carriesF16)
	case gpu.BF16:
		return finite(src, exponentsBF16, carriesBF16)
	}
	at, size, seen := &formats[d], d.BlockBytes(), byte(0)
	for i := at.scale + 1; i < len(src); i += size { // the upper byte has the exponent
		seen |= src[i]&0x7c + 4
	}
	if at.least >= 0 {
		for i := at.least + 1; i < len(src); i += size {
			seen |= src[i]&0x7c + 4
		}
	}
	return seen < 0x80
}

// finite looks at plain numbers. Few weights are 2 or more, so that the highest bit of
// the exponent is set. If none is, an OR is enough, which does not slow down loading.
func finite(src []byte, exponents, lowest uint64) bool {
	for high := exponents & (signs >> 1); len(src) >= 128; src = src[128:] {
		b := (*[128]byte)(src)
		x := word(b, 0) | word(b, 8) | word(b, 16) | word(b, 24) | word(b, 32) | word(b, 40) | word(b, 48) | word(b, 56)
		y := word(b, 64) | word(b, 72) | word(b, 80) | word(b, 88) | word(b, 96) | word(b, 104) | word(b, 112) | word(b, 120)
		if (x|y)&high != 0 && carries(b[:], exponents, lowest) {
			return false
		}
	}
	return !carries(src, exponents, lowest)
}

func word(b *[128]byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// carries adds lowest to the exponents of all numbers and reports whether any carried.
func carries(src []byte, exponents, lowest uint64) bool {
	seen := uint64(0)
	for ; len(src) >= 8; src = src[8:] {
		seen |= binary.LittleEndian.Uint64(src)&exponents + lowest
	}
	var rest [8]byte
	copy(rest[:], src)
	seen |= binary.LittleEndian.Uint64(rest[:])&exponents + lowest
	return seen&signs != 0
}

// CheckRow refuses a row that a device cannot compute with. as is the row of tensor t
// in the type in which the device holds it; of a vector, row is 0 and as is all of it.
// The error has the place from w, and distinguishes a damaged file from numbers that
// the held type cannot represent.
func CheckRow(w gpu.Weights, t gpu.Tensor, row int, held gpu.DType, as []byte) error {
	if Finite(held, as) {
		return nil
	}
	rows := 1
	if len(t.Shape) > 1 {
		rows = t.Shape[0]
	}
	size := len(t.Data) / rows
	stored := t.Data[row*size : (row+1)*size]
	if col, bad := firstBad(t.DType, stored); bad != "" {
		return fmt.Errorf("%s %s; the file is damaged or was converted wrongly: download it again or convert it again", place(w, t, row, col, t.DType.BlockLen()), bad)
	}
	col, _ := firstBad(held, as)
	n, reach := held.BlockLen(), "reach"
	if n == 1 {
		reach = "reaches"
	}
	return fmt.Errorf("%s %s %g, which is too large for %s; if the model needs such values, use weight-dtype f32; otherwise the file is damaged: download it again or convert it again",
		place(w, t, row, col, n), reach, greatest(t.DType, stored, col, n), held)
}

// firstBad finds the first element, or the first element of the first block, that is
// not finite, and says what is wrong with it; "" if all are.
func firstBad(d gpu.DType, src []byte) (element int, bad string) {
	n, size := d.BlockLen(), d.BlockBytes()
	for i := 0; i < len(src)/size; i++ {
		block := src[i*size : (i+1)*size]
		switch {
		case Finite(d, block):
			continue
		case n == 1:
			var x [1]float32
			Dequantize(d, x[:], block)
			return i, fmt.Sprintf("is %v", x[0])
		}
		name, x := "scale", half(block[formats[d].scale:])
		if x-x == 0 {
			name, x = "minimum", half(block[formats[d].least:])
		}
		return i * n, fmt.Sprintf("of %s have the %s %v", d, name, x)
	}
	return 0, ""
}

// greatest is the element furthest from zero among n elements.
func greatest(d gpu.DType, src []byte, from, n int) (far float32) {
	x := make([]float32, len(src)/d.BlockBytes()*d.BlockLen())
	Dequantize(d, x, src)
	for _, v := range x[from : from+n] {
		if max(v, -v) > max(far, -far) {
			far = v
		}
	}
	return far
}

// place names n elements of a row from a column on, as the subject of a sentence.
func place(w gpu.Weights, t gpu.Tensor, row, col, n int) string {
	tensor, at := "tensor "+t.Name, row
	if len(t.Shape) < 2 {
		at = col
	}
	if w, ok := w.(gpu.PlacedWeights); ok {
		tensor, at = w.Place(t.Name, at)
	}
	switch {
	case len(t.Shape) < 2 && n == 1:
		return fmt.Sprintf("%s: element %d", tensor, at)
	case len(t.Shape) < 2:
		return fmt.Sprintf("%s: elements %d to %d", tensor, at, at+n-1)
	case n == 1:
		return fmt.Sprintf("%s: row %d, column %d", tensor, at, col)
	}
	return fmt.Sprintf("%s: row %d, columns %d to %d", tensor, at, col, col+n-1)
}
