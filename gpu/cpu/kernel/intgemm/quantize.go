package intgemm

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// tokenBytes is the size of a group of a token: 32 elements, correction and scale.
const tokenBytes = layout.GroupCols + 8

func TileBytes(groups, tokens int) int { return groups * tokens * tokenBytes }

// Order is how the elements of a tile of quantised activations are ordered.
type Order uint8

const (
	// Quads is, for each group of 32 columns, [8][tokens][4] int8: what Multiply reads.
	Quads Order = iota
	// Rows is [tokens][32] int8: what MultiplyAMX reads.
	Rows
)

// at returns offsets in a group: of the token's first four elements, from them to
// the next four, and from them to the correction.
func (o Order) at(t, tokens int) (first, step, correction int) {
	if o == Rows {
		first, step = layout.GroupCols*t, 4
	} else {
		first, step = 4*t, 4*tokens
	}
	return first, step, layout.GroupCols*tokens + 4*t - first
}

// QuantizeRow writes x as token t of a tile. len(x) is a multiple of 32. For each
// group of 32 columns the tile has the elements in the given order, then [tokens]
// int32 corrections, -128 times the sum of the group's elements, which MultiplyAMX
// does not read, then [tokens] float32 scales. Other tokens are not touched.
//
// A group's scale is its largest magnitude / 127, at least 1e-30 / 127. An element
// is x * (127 / magnitude), rounded to nearest even. A group with an infinity or a
// NaN has the scale NaN, and so have its products. Every level has the same bits.
func QuantizeRow(l simd.Level, order Order, x []float32, tile []byte, t, tokens int) {
	groups := len(x) / layout.GroupCols
	if len(x)%layout.GroupCols != 0 || t < 0 || t >= tokens || len(tile) < TileBytes(groups, tokens) {
		panic(fmt.Sprintf("intgemm: %d columns as token %d of %d into %d bytes", len(x), t, tokens, len(tile)))
	}
	first, step, correction := order.at(t, tokens)
	switch {
	case groups == 0:
	case l >= simd.AVX2:
		quantizeRowAVX2(&x[0], &tile[first], groups, step, correction, tokens)
	default:
		quantizeRowPortable(x, tile, first, step, correction, tokens)
	}
}

// intPeakLeast keeps 127 / magnitude finite.
const intPeakLeast = 1e-30

func quantizeRowPortable(x []float32, tile []byte, first, step, correction, tokens int) {
	for g := 0; g < len(x)/layout.GroupCols; g++ {
		v := (*[layout.GroupCols]float32)(x[g*layout.GroupCols:])
		out := tile[g*tokens*tokenBytes+first : (g+1)*tokens*tokenBytes]
		// The bits of magnitudes compare like magnitudes; infinity and NaN are largest.
		bits := math.Float32bits(intPeakLeast)
		for _, e := range v {
			bits = max(bits, math.Float32bits(e)&^(1<<31))
		}
		peak := math.Float32frombits(bits)
		scale, inverse := peak/127, 127/peak
		sum := int32(0)
		if peak > math.MaxFloat32 || peak != peak {
			scale, inverse = float32(math.NaN()), 0
		}
		for i, e := range v {
			q := int8(0)
			if inverse != 0 {
				q = int8(math.RoundToEven(float64(float32(e * inverse))))
			}
			out[i/4*step+i%4] = byte(q)
			sum += int32(q)
		}
		binary.LittleEndian.PutUint32(out[correction:], uint32(-128*sum))
		binary.LittleEndian.PutUint32(out[correction+4*tokens:], math.Float32bits(scale))
	}
}
