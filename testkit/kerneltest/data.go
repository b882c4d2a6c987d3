// Package kerneltest has the shared code of the kernels' tests: random weights in
// every encoding, comparisons, and memory with guarded bounds.
package kerneltest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
)

// NativeRows are random rows in the encoding that Pack takes, and their values.
// Scales are of about the same size.
func NativeRows(r *rand.Rand, f layout.Form, rows, cols int) (encoded [][]byte, values [][]float64) {
	le := binary.LittleEndian
	for range rows {
		var row []byte
		var value []float64
		switch f {
		case layout.F32:
			for range cols {
				x := float32(r.NormFloat64())
				row, value = le.AppendUint32(row, math.Float32bits(x)), append(value, float64(x))
			}
		case layout.BF16:
			for range cols {
				x := math.Float32bits(float32(r.NormFloat64())) >> 16
				row, value = le.AppendUint16(row, uint16(x)), append(value, float64(math.Float32frombits(x<<16)))
			}
		case layout.F16:
			for range cols {
				h, x := RandomHalf(r, 0, 17)
				row, value = le.AppendUint16(row, h), append(value, x)
			}
		default:
			for range cols / f.Unit() {
				b := RandomBlock(r, f, 12, 15)
				row = append(row, b.Encoded...)
				for c := range f.Unit() {
					value = append(value, b.Weight(c))
				}
			}
		}
		encoded, values = append(encoded, row), append(values, value)
	}
	return encoded, values
}

// RandomHalf is a binary16 of either sign, exponent lo to hi (0 is subnormal), and value.
func RandomHalf(r *rand.Rand, lo, hi int) (uint16, float64) {
	h := uint16(r.IntN(1<<10)) | uint16(lo+r.IntN(hi-lo+1))<<10 | uint16(r.IntN(2))<<15
	return h, float64(HalfTwin(h))
}

// Normal is n normally distributed numbers.
func Normal(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// ColumnsOf are awkward numbers of columns.
func ColumnsOf(f layout.Form) []int {
	if f.Unit() > layout.GroupCols {
		return []int{256, 512, 1024}
	}
	if f.Integer() {
		return []int{32, 64, 96, 352}
	}
	return []int{1, 2, 3, 5, 31, 64, 65, 130, 257}
}

// Block is a block of integers as Pack reads it, and integer, scale, offset by column.
type Block struct {
	Encoded       []byte
	Value         []int
	Scale, Offset []float64 // exact
}

func (b *Block) Weight(c int) float64 { return float64(b.Value[c])*b.Scale[c] + b.Offset[c] }

// RandomBlock is written column by column from the description of the formats;
// float16 have exponents from lo to hi.
func RandomBlock(r *rand.Rand, f layout.Form, lo, hi int) *Block {
	n := f.Unit()
	b := &Block{Value: make([]int, n), Scale: make([]float64, n), Offset: make([]float64, n)}
	for c := range b.Value {
		b.Value[c] = r.IntN(16)
	}
	d, dValue := RandomHalf(r, lo, hi)
	m, mValue := RandomHalf(r, lo, hi)
	put := binary.LittleEndian.PutUint16
	b.Encoded = make([]byte, f.RowBytes(n))
	switch f {
	case layout.Q8:
		put(b.Encoded, d)
		for c := range n {
			b.Value[c] = r.IntN(256) - 128
			b.Encoded[2+c], b.Scale[c] = byte(b.Value[c]), dValue
		}
	case layout.Q4:
		put(b.Encoded, d)
		for c := range n {
			b.Encoded[2+c%16] |= byte(b.Value[c] << (c / 16 * 4))
			b.Value[c], b.Scale[c] = b.Value[c]-8, dValue
		}
	case layout.Q41:
		put(b.Encoded, d)
		put(b.Encoded[2:], m)
		for c := range n {
			b.Encoded[4+c%16] |= byte(b.Value[c] << (c / 16 * 4))
			b.Scale[c], b.Offset[c] = dValue, mValue
		}
	case layout.Q4K:
		put(b.Encoded, d)
		put(b.Encoded[2:], m)
		scales := b.Encoded[4:]
		for g := range 8 {
			s, t := r.IntN(64), r.IntN(64)
			if g < 4 {
				scales[g] |= byte(s)
				scales[4+g] |= byte(t)
			} else {
				scales[4+g] = byte(s&15 | t&15<<4)
				scales[g-4] |= byte(s >> 4 << 6)
				scales[g] |= byte(t >> 4 << 6)
			}
			for c := 32 * g; c < 32*g+32; c++ {
				b.Encoded[16+c/64*32+c%32] |= byte(b.Value[c] << (c / 32 % 2 * 4))
				b.Scale[c], b.Offset[c] = dValue*float64(s), -mValue*float64(t)
			}
		}
	case layout.Q6K:
		put(b.Encoded[208:], d)
		for c := range n {
			v := r.IntN(64)
			half, within := c/128, c%128
			b.Encoded[64*half+within%64] |= byte(v & 15 << (within / 64 * 4))
			b.Encoded[128+32*half+within%32] |= byte(v >> 4 << (within / 32 * 2))
			if c%16 == 0 {
				b.Encoded[192+c/16] = byte(r.IntN(256))
			}
			b.Value[c], b.Scale[c] = v-32, dValue*float64(int8(b.Encoded[192+c/16]))
		}
	}
	return b
}
