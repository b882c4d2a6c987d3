package layout

import (
	"math"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu"
)

// Row converts row r of a panel exactly.
func Row(f Form, panel []byte, cols, r int, out []float32) {
	out, panel = out[:cols], panel[:f.PanelBytes(cols)]
	switch f {
	case F32:
		for c, in := 0, Floats(panel); c < cols; c++ {
			out[c] = in[c*PanelRows+r]
		}
	case BF16:
		for c, in := 0, Words(panel); c < cols; c += 2 {
			pair := in[c/2*PanelRows+r]
			if out[c] = EvenBF16(pair); c+1 < cols {
				out[c+1] = OddBF16(pair)
			}
		}
	case F16:
		for c, in := 0, Halves(panel); c < cols; c++ {
			out[c] = gpu.FromF16(in[c*PanelRows+r])
		}
	default:
		for g := range cols / GroupCols {
			rowOfGroup(f, panel, g, r, (*[GroupCols]float32)(out[g*GroupCols:]))
		}
	}
}

// UnpackCols is the most columns for Unpack: 8 KiB of float32, which fit the L1 cache.
const UnpackCols = 64

// Columns is memory for unpacked columns, [column][row].
type Columns [UnpackCols * PanelRows]float32

// Unpack converts the columns [from, from+n) of a panel to float32, rounding each weight
// at most once. f is not F32. For quantised forms from and n are multiples of GroupCols.
func Unpack(f Form, panel []byte, from, n int, out *Columns) {
	switch f {
	case BF16:
		for i, pair := range Words(panel[f.PanelBytes(from):f.PanelBytes(from+n)]) {
			at := i/PanelRows*2*PanelRows + i%PanelRows
			out[at], out[at+PanelRows] = EvenBF16(pair), OddBF16(pair)
		}
	case F16:
		for i, h := range Halves(panel)[from*PanelRows : (from+n)*PanelRows] {
			out[i] = gpu.FromF16(h)
		}
	default:
		for g := range n / GroupCols {
			unpackGroup(f, panel, from/GroupCols+g, (*[GroupCols * PanelRows]float32)(out[g*GroupCols*PanelRows:]))
		}
	}
}

func unpackGroup(f Form, panel []byte, g int, out *[GroupCols * PanelRows]float32) {
	head, group := Group(f, panel, g)
	switch f {
	case Q8:
		scales := scalesOf(group)
		for i := range 8 * PanelRows {
			b, scale := (*[4]byte)(group[4*i:]), scales[i%PanelRows]
			to := out[i/PanelRows*4*PanelRows+i%PanelRows:][:3*PanelRows+1]
			to[0], to[PanelRows] = q8(b[0], scale), q8(b[1], scale)
			to[2*PanelRows], to[3*PanelRows] = q8(b[2], scale), q8(b[3], scale)
		}
	case Q4:
		scales := scalesOf(group)
		for i := range 4 * PanelRows {
			b, scale := (*[4]byte)(group[4*i:]), scales[i%PanelRows]
			to := out[i/PanelRows*4*PanelRows+i%PanelRows:][:19*PanelRows+1]
			for j, v := range b {
				to[j*PanelRows], to[(16+j)*PanelRows] = q4(v&15, scale), q4(v>>4, scale)
			}
		}
	case Q6K:
		unpackSix(head, group, out)
	default:
		unpackMinimums(f, head, group, out)
	}
}

// scalesOf converts the scales of a group of Q8 or Q4.
func scalesOf(group []byte) (scales [PanelRows]float32) {
	for r, h := range scaleBits(group) {
		scales[r%PanelRows] = gpu.FromF16(h)
	}
	return scales
}

// scaleBits are the float16 scales of a group of Q8 or Q4.
func scaleBits(group []byte) []uint16 { return Halves(group[len(group)-2*PanelRows:]) }

// unpackMinimums is a group of Q41 or Q4K.
func unpackMinimums(f Form, head, group []byte, out *[GroupCols * PanelRows]float32) {
	var scales, offsets [PanelRows]float32
	for r := range PanelRows {
		scales[r], offsets[r] = ScaleAndOffset(f, head, group, r)
	}
	for i := range 4 * PanelRows {
		b, r := (*[4]byte)(group[4*i:]), i%PanelRows
		scale, offset := scales[r], offsets[r]
		to := out[i/PanelRows*4*PanelRows+r:][:19*PanelRows+1]
		for j, v := range b {
			to[j*PanelRows] = float32(scale*float32(v&15)) + offset
			to[(16+j)*PanelRows] = float32(scale*float32(v>>4)) + offset
		}
	}
}

func unpackSix(head, group []byte, out *[GroupCols * PanelRows]float32) {
	for r := range PanelRows {
		first, second := scaleOfHalf(head, group, r, 0), scaleOfHalf(head, group, r, 1)
		for u := range 2 {
			part := group[u*Q6KPart+4*r:]
			to := out[u*8*PanelRows+r:][:23*PanelRows+1]
			for i := range 4 {
				a, b, high := part[i], part[4*PanelRows+i], part[2*4*PanelRows+i]
				to[i*PanelRows] = first * six(a&15, high)
				to[(16+i)*PanelRows] = second * six(a>>4, high>>2)
				to[(4+i)*PanelRows] = first * six(b&15, high>>4)
				to[(20+i)*PanelRows] = second * six(b>>4, high>>6)
			}
		}
	}
}

// six joins the lower four bits and the upper two.
func six(low, high byte) float32 { return float32(int32(low|high&3<<4) - 32) }

// q8 and q4 are the weights of an unsigned value: exact, because a scale has 11 bits.
func q8(b byte, scale float32) float32 { return float32(int32(b)-128) * scale }
func q4(b byte, scale float32) float32 { return float32(int32(b)-8) * scale }

// Panels hold numbers in native byte order, so they can be read in place. They start
// at multiples of 64 bytes of aligned memory.

// Floats is a panel of F32 as numbers.
func Floats(panel []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/4)
}

// Words is a panel of BF16: pairs of columns.
func Words(panel []byte) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/4)
}

// Halves is a panel of F16.
func Halves(panel []byte) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(panel))), len(panel)/2)
}

// EvenBF16 and OddBF16 are the columns of a pair of BF16, the even one in the lower
// half. A bfloat16 is the upper half of a float32.
func EvenBF16(pair uint32) float32 { return math.Float32frombits(pair << 16) }
func OddBF16(pair uint32) float32  { return math.Float32frombits(pair & 0xffff0000) }
