package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
)

// intTokenBytes is what a group takes of a token: 32 elements, correction and
// scale.
const intTokenBytes = GroupCols + 8

// IntTileBytes is the size of a tile of so many tokens.
func IntTileBytes(groups, tokens int) int { return groups * tokens * intTokenBytes }

// IntLayout is the order of the elements of a tile of quantised activations.
type IntLayout uint8

const (
	// Quads is, for each group of 32 columns, [8][tokens][4] int8: what IntGemm
	// reads.
	Quads IntLayout = iota
	// Rows is [tokens][32] int8: what TileGemm reads.
	Rows
)

// at is where the first four elements of a token's group lie in it, how many
// bytes the next four lie behind them, and how far the correction does.
func (o IntLayout) at(t, tokens int) (first, step, correction int) {
	if o == Rows {
		first, step = GroupCols*t, 4
	} else {
		first, step = 4*t, 4*tokens
	}
	return first, step, GroupCols*tokens + 4*t - first
}

// QuantizeRow writes x as token t of a tile of so many tokens. len(x) is a
// multiple of 32. The tile is, for each group of 32 columns, its elements in the
// order of the layout, then [tokens] int32, -128 times the sum of the group's
// elements, which TileGemm does not read, then [tokens] float32, the scale.
// Other tokens are not touched.
//
// A group's scale is its largest magnitude / 127, at least 1e-30 / 127. An
// element is x * (127 / magnitude), to nearest even. Where a group has an
// infinity or a NaN its scale is NaN, and so is all that comes of it. Every
// level gives the same bits.
func QuantizeRow(l Level, layout IntLayout, x []float32, tile []byte, t, tokens int) {
	groups := len(x) / GroupCols
	if len(x)%GroupCols != 0 || t < 0 || t >= tokens || len(tile) < IntTileBytes(groups, tokens) {
		panic(fmt.Sprintf("kernel: %d columns as token %d of %d into %d bytes", len(x), t, tokens, len(tile)))
	}
	first, step, correction := layout.at(t, tokens)
	switch {
	case groups == 0:
	case l >= AVX2:
		quantizeRowAVX2(&x[0], &tile[first], groups, step, correction, tokens)
	default:
		quantizeRowPortable(x, tile, first, step, correction, tokens)
	}
}

// intPeakLeast keeps 127 / magnitude finite.
const intPeakLeast = 1e-30

func quantizeRowPortable(x []float32, tile []byte, first, step, correction, tokens int) {
	for g := 0; g < len(x)/GroupCols; g++ {
		v := (*[GroupCols]float32)(x[g*GroupCols:])
		out := tile[g*tokens*intTokenBytes+first : (g+1)*tokens*intTokenBytes]
		// Bits of magnitudes order as magnitudes do; infinities and NaNs are the
		// largest.
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
