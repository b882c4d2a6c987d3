package kernel

import "encoding/binary"

// The forms of integers that have minimums, or blocks with scales in two steps:
// Q41, Q4K and Q6K.

// blockGroups is the groups of 32 columns of a block of Q4K and Q6K.
const blockGroups = 8

// Bytes of panels: of a group and of a block, whose head are its float16.
const (
	nibbles  = 4 * PanelRows * 4 // of a group
	q41Group = nibbles + 4*PanelRows
	q4kHead  = 4 * PanelRows
	q4kGroup = nibbles + 2*PanelRows
	q4kBlock = q4kHead + blockGroups*q4kGroup
	q6kHead  = 2 * PanelRows
	q6kPart  = 3 * PanelRows * 4 // half of the columns' bits
	q6kGroup = 2*q6kPart + 2*PanelRows
	q6kBlock = q6kHead + blockGroups*q6kGroup
)

// Bytes of the blocks that Pack reads.
const (
	q41Row = 20
	q4kRow = 144
	q6kRow = 210
)

// groupOfBlock is group g of a panel and the head of its block.
func groupOfBlock(f Form, panel []byte, g int) (head, group []byte) {
	switch f {
	case Q4K:
		block := panel[g/blockGroups*q4kBlock:][:q4kBlock]
		return block[:q4kHead], block[q4kHead+g%blockGroups*q4kGroup:][:q4kGroup]
	case Q6K:
		block := panel[g/blockGroups*q6kBlock:][:q6kBlock]
		return block[:q6kHead], block[q6kHead+g%blockGroups*q6kGroup:][:q6kGroup]
	}
	return nil, panel[g*q41Group:][:q41Group]
}

// scaleAndOffset are those of row r in a group of Q41 or Q4K: a weight is
// value*scale + offset. Products are exact: 11 bits times 6.
func scaleAndOffset(f Form, head, group []byte, r int) (scale, offset float32) {
	if f == Q41 {
		return halfValue(binary.NativeEndian.Uint16(group[nibbles+2*r:])), halfValue(binary.NativeEndian.Uint16(group[nibbles+2*PanelRows+2*r:]))
	}
	d, m := binary.NativeEndian.Uint16(head[2*r:]), binary.NativeEndian.Uint16(head[2*PanelRows+2*r:])
	return halfValue(d) * float32(group[nibbles+r]), -(halfValue(m) * float32(group[nibbles+PanelRows+r]))
}

// scaleOfHalf is that of row r in a group of Q6K, of columns 0 to 15 or 16 to
// 31; exact: 11 bits times 8.
func scaleOfHalf(head, group []byte, r, half int) float32 {
	return halfValue(binary.NativeEndian.Uint16(head[2*r:])) * float32(int8(group[2*q6kPart+half*PanelRows+r]))
}

// valuesOfRow are the integers of row r in a group: of Q6K with 32 taken off.
func valuesOfRow(f Form, group []byte, r int, out *[GroupCols]int8) {
	for c := range GroupCols / 2 {
		s, i := c/4, c%4
		if f != Q6K {
			b := group[s*4*PanelRows+4*r+i]
			out[c], out[16+c] = int8(b&15), int8(b>>4)
			continue
		}
		part := group[s/2*q6kPart+4*r+i:]
		low, high := part[s%2*4*PanelRows], part[2*4*PanelRows]>>(s%2*4)
		out[c], out[16+c] = int8(low&15|high&3<<4)-32, int8(low>>4|high>>2&3<<4)-32
	}
}

// rowOfGroup widens row r of a group, each weight rounded once.
func rowOfGroup(f Form, panel []byte, g, r int, out *[GroupCols]float32) {
	head, group := groupOfBlock(f, panel, g)
	var values [GroupCols]int8
	valuesOfRow(f, group, r, &values)
	if f == Q6K {
		for half := range 2 {
			scale := scaleOfHalf(head, group, r, half)
			for c := 16 * half; c < 16*half+16; c++ {
				out[c] = scale * float32(values[c])
			}
		}
		return
	}
	scale, offset := scaleAndOffset(f, head, group, r)
	for c, v := range values {
		out[c] = float32(scale*float32(v)) + offset
	}
}

// widenGroup makes columns of F32 of a group.
func widenGroup(f Form, panel []byte, g int, out *[blockCols * PanelRows]float32) {
	var row [GroupCols]float32
	for r := range PanelRows {
		rowOfGroup(f, panel, g, r, &row)
		for c, w := range row {
			out[c*PanelRows+r] = w
		}
	}
}
