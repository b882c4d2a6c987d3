package kernel

import (
	"encoding/binary"
	"math"
)

// blockCols is the columns that are widened at a time: 8 KiB, which stay in the
// first cache for all tokens and rows.
const blockCols = 64

// columnBytes is a column of a panel of F32.
const columnBytes = 4 * PanelRows

// gemmPortable is Gemm in plain Go.
func gemmPortable(f Form, panel []byte, cols int, x []float32, tokens int, y []float32, ldy int, add bool) {
	if !add {
		for t := range tokens {
			clear(y[t*ldy : t*ldy+PanelRows])
		}
	}
	var wide [blockCols * columnBytes]byte
	for from := 0; from < cols; from += blockCols {
		n := min(blockCols, cols-from)
		w := panel[f.PanelBytes(from):]
		if f != F32 {
			widenBlock(wide[:], f, w, n)
			w = wide[:]
		}
		in, t := x[from*tokens:(from+n)*tokens], 0
		for ; t+2 <= tokens; t += 2 {
			for r := 0; r < PanelRows; r += 4 {
				at := t*ldy + r
				add4x2(w[4*r:], in[t:], tokens, y[at:at+4], y[at+ldy:at+ldy+4])
			}
		}
		if t < tokens {
			for r := 0; r < PanelRows; r += 8 {
				at := t*ldy + r
				add8(w[4*r:], in[t:], tokens, y[at:at+8])
			}
		}
	}
}

// load and store are a float32 of a panel.
func load(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

func store(b []byte, x float32) { binary.LittleEndian.PutUint32(b, math.Float32bits(x)) }

// add4x2 adds the products of four rows and two tokens, which keeps eight
// independent sums in registers. Each product is rounded before it is added.
func add4x2(w []byte, x []float32, stride int, y, z []float32) {
	y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
	z0, z1, z2, z3 := z[0], z[1], z[2], z[3]
	for {
		c := (*[16]byte)(w)
		w0, w1, w2, w3 := load(c[0:]), load(c[4:]), load(c[8:]), load(c[12:])
		a, b := x[0], x[1]
		y0 += float32(w0 * a)
		y1 += float32(w1 * a)
		y2 += float32(w2 * a)
		y3 += float32(w3 * a)
		z0 += float32(w0 * b)
		z1 += float32(w1 * b)
		z2 += float32(w2 * b)
		z3 += float32(w3 * b)
		if len(x) <= stride {
			break
		}
		w, x = w[columnBytes:], x[stride:]
	}
	y[0], y[1], y[2], y[3] = y0, y1, y2, y3
	z[0], z[1], z[2], z[3] = z0, z1, z2, z3
}

// add8 adds the products of eight rows and one token.
func add8(w []byte, x []float32, stride int, y []float32) {
	y0, y1, y2, y3, y4, y5, y6, y7 := y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7]
	for {
		c, a := (*[32]byte)(w), x[0]
		y0 += float32(load(c[0:]) * a)
		y1 += float32(load(c[4:]) * a)
		y2 += float32(load(c[8:]) * a)
		y3 += float32(load(c[12:]) * a)
		y4 += float32(load(c[16:]) * a)
		y5 += float32(load(c[20:]) * a)
		y6 += float32(load(c[24:]) * a)
		y7 += float32(load(c[28:]) * a)
		if len(x) <= stride {
			break
		}
		w, x = w[columnBytes:], x[stride:]
	}
	y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7] = y0, y1, y2, y3, y4, y5, y6, y7
}

// widenBlock makes columns of F32 of the first n columns of a panel.
func widenBlock(out []byte, f Form, panel []byte, n int) {
	switch f {
	case BF16:
		for ; n > 0; n, panel, out = n-2, panel[4*PanelRows:], out[2*columnBytes:] {
			even, odd := out[:columnBytes], out[columnBytes:2*columnBytes]
			for i := 0; i < columnBytes; i += 4 {
				pair := binary.LittleEndian.Uint32(panel[i:])
				binary.LittleEndian.PutUint32(even[i:], pair<<16)
				binary.LittleEndian.PutUint32(odd[i:], pair&0xffff0000)
			}
		}
	case F16:
		for i := range n * PanelRows {
			store(out[4*i:], fromF16(binary.LittleEndian.Uint16(panel[2*i:])))
		}
	case Q8, Q4:
		size := f.PanelBytes(GroupCols)
		for ; n > 0; n, panel, out = n-GroupCols, panel[size:], out[GroupCols*columnBytes:] {
			for r := range PanelRows {
				scale := fromF16(binary.LittleEndian.Uint16(panel[size-2*PanelRows+2*r:]))
				for c := range GroupCols {
					store(out[c*columnBytes+4*r:], integer(f, panel, r, c, scale))
				}
			}
		}
	}
}

// integer is value x scale of a weight of a group: two exact products and an
// exact sum, as the other levels have it.
func integer(f Form, group []byte, r, c int, scale float32) float32 {
	at := c/4%4*4*PanelRows + 4*r + c%4
	switch {
	case f == Q8:
		return float32(float32(group[at+c/16*16*PanelRows])*scale) - float32(128*scale)
	case c < 16:
		return float32(float32(group[at]&15)*scale) - float32(8*scale)
	}
	return float32(float32(group[at]>>4)*scale) - float32(8*scale)
}

// fromF16 widens a binary16; exact. Moved to where float32 has its exponent and
// mantissa, a finite one is 2^112 times too small, subnormals included.
func fromF16(h uint16) float32 {
	b := uint32(h&0x7fff) << 13
	if b >= 0x7c00<<13 { // infinite or NaN
		b |= 0x7f800000
	} else {
		b = math.Float32bits(math.Float32frombits(b) * 0x1p112)
	}
	return math.Float32frombits(b | uint32(h&0x8000)<<16)
}

func multiplyAddsPortable(n int) {
	var a, b, c, d, e, f, g, h float32
	x, y := sink, sink
	for range n {
		a += float32(x * y)
		b += float32(x * y)
		c += float32(x * y)
		d += float32(x * y)
		e += float32(x * y)
		f += float32(x * y)
		g += float32(x * y)
		h += float32(x * y)
	}
	sink = a + b + c + d + e + f + g + h
}

// sink keeps the compiler from leaving work out.
var sink float32

func fromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }
