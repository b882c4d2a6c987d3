package layout

import (
	"encoding/binary"

	"github.com/troupe-engine/troupe/gpu"
)

// Q41, Q4K and Q6K: quantised forms with minimums, or with scales of scales.

// blockGroups is the number of groups in a block of Q4K or Q6K.
const blockGroups = 8

// Bytes of a group and of a block of a panel. A block's head is its float16.
const (
	nibbles  = 4 * PanelRows * 4 // of a group
	q41Group = nibbles + 4*PanelRows
	q4kHead  = 4 * PanelRows
	q4kGroup = nibbles + 2*PanelRows
	q4kBlock = q4kHead + blockGroups*q4kGroup
	q6kHead  = 2 * PanelRows
	Q6KPart  = 3 * PanelRows * 4 // half of the columns' bits
	q6kGroup = 2*Q6KPart + 2*PanelRows
	q6kBlock = q6kHead + blockGroups*q6kGroup
)

// Bytes of the blocks that Pack reads.
const (
	q41Row = 20
	q4kRow = 144
	q6kRow = 210
)

// Group is group g of a panel of integers, and the head of its block if there are blocks.
func Group(f Form, panel []byte, g int) (head, group []byte) {
	d := &forms[f]
	groups := f.Unit() / GroupCols
	size := (d.panel - d.head) / groups
	block := panel[g/groups*d.panel:][:d.panel]
	return block[:d.head], block[d.head+g%groups*size:][:size]
}

// ScaleAndOffset returns those of row r in a group of Q41 or Q4K: a weight is
// value*scale + offset. Both are exact: 11 bits times 6.
func ScaleAndOffset(f Form, head, group []byte, r int) (scale, offset float32) {
	if f == Q41 {
		return gpu.FromF16(binary.NativeEndian.Uint16(group[nibbles+2*r:])), gpu.FromF16(binary.NativeEndian.Uint16(group[nibbles+2*PanelRows+2*r:]))
	}
	d, m := binary.NativeEndian.Uint16(head[2*r:]), binary.NativeEndian.Uint16(head[2*PanelRows+2*r:])
	return gpu.FromF16(d) * float32(group[nibbles+r]), -(gpu.FromF16(m) * float32(group[nibbles+PanelRows+r]))
}

// scaleOfHalf is the scale of row r in a group of Q6K for columns 0 to 15 or 16 to
// 31. It is exact: 11 bits times 8.
func scaleOfHalf(head, group []byte, r, half int) float32 {
	return gpu.FromF16(binary.NativeEndian.Uint16(head[2*r:])) * float32(int8(group[2*Q6KPart+half*PanelRows+r]))
}

// valueOf is the integer of a row and column in a group, without the offset of its form.
func valueOf(f Form, group []byte, r, c int) int8 {
	s, i, shift := c%16/4, c%4, c/16*4
	switch f {
	case Q8:
		return int8(group[c/4*4*PanelRows+4*r+i] - 128)
	case Q4:
		return int8(group[s*4*PanelRows+4*r+i]>>shift&15) - 8
	case Q6K:
		part := group[s/2*Q6KPart+4*r+i:]
		low, high := part[s%2*4*PanelRows]>>shift&15, part[2*4*PanelRows]>>(s%2*4+shift/2)&3
		return int8(low|high<<4) - 32
	}
	return int8(group[s*4*PanelRows+4*r+i] >> shift & 15)
}

// rowOfGroup converts row r of a group, rounding each weight once at most.
func rowOfGroup(f Form, panel []byte, g, r int, out *[GroupCols]float32) {
	head, group := Group(f, panel, g)
	var scales [2]float32 // of columns 0 to 15 and 16 to 31
	switch f {
	case Q8, Q4:
		scales[0] = gpu.FromF16(scaleBits(group)[r])
		scales[1] = scales[0]
	case Q6K:
		scales = [2]float32{scaleOfHalf(head, group, r, 0), scaleOfHalf(head, group, r, 1)}
	default:
		scale, offset := ScaleAndOffset(f, head, group, r)
		for c := range out {
			out[c] = float32(scale*float32(valueOf(f, group, r, c))) + offset
		}
		return
	}
	for c := range out {
		out[c] = scales[c/16] * float32(valueOf(f, group, r, c))
	}
}
