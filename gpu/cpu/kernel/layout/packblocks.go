package layout

import "encoding/binary"

// packBlocks writes rows of blocks of Q4_1, Q4_K or Q6_K as a panel.
func packBlocks(f Form, panel []byte, rows [][]byte, cols int) {
	for u := range cols / f.Unit() {
		out := panel[f.PanelBytes(u*f.Unit()):]
		for r, row := range rows {
			switch f {
			case Q41:
				packQ41(out[:q41Group], (*[q41Row]byte)(row[u*q41Row:]), r)
			case Q4K:
				packQ4K(out[:q4kBlock], (*[q4kRow]byte)(row[u*q4kRow:]), r)
			case Q6K:
				packQ6K(out[:q6kBlock], (*[q6kRow]byte)(row[u*q6kRow:]), r)
			}
		}
	}
}

// copyHalf copies a float16 from little-endian to native order.
func copyHalf(to, from []byte) {
	binary.NativeEndian.PutUint16(to, binary.LittleEndian.Uint16(from))
}

// packQ41: the bytes of a block are those of a group.
func packQ41(group []byte, in *[q41Row]byte, r int) {
	copyHalf(group[nibbles+2*r:], in[:])
	copyHalf(group[nibbles+2*PanelRows+2*r:], in[2:])
	for s := range 4 {
		copy(group[s*4*PanelRows+4*r:][:4], in[4+4*s:])
	}
}

// Each byte's lower half, and its upper one.
const (
	lowerHalves = 0x0f0f0f0f
	upperHalves = 0xf0f0f0f0
)

// packQ4K: 32 bytes have one group in their lower halves, the next in the upper halves.
func packQ4K(block []byte, in *[q4kRow]byte, r int) {
	copyHalf(block[2*r:], in[:])
	copyHalf(block[2*PanelRows+2*r:], in[2:])
	scales := (*[12]byte)(in[4:])
	for pair := range blockGroups / 2 {
		even := block[q4kHead+2*pair*q4kGroup:][:q4kGroup]
		odd := block[q4kHead+(2*pair+1)*q4kGroup:][:q4kGroup]
		for s := range 4 {
			at := 16 + 32*pair + 4*s
			a, b := binary.LittleEndian.Uint32(in[at:]), binary.LittleEndian.Uint32(in[at+16:])
			binary.LittleEndian.PutUint32(even[s*4*PanelRows+4*r:], a&lowerHalves|b&lowerHalves<<4)
			binary.LittleEndian.PutUint32(odd[s*4*PanelRows+4*r:], a>>4&lowerHalves|b&upperHalves)
		}
		even[nibbles+r], even[nibbles+PanelRows+r] = sixBits(scales, 2*pair)
		odd[nibbles+r], odd[nibbles+PanelRows+r] = sixBits(scales, 2*pair+1)
	}
}

// sixBits are scale and minimum of group g of a block of Q4_K. The first four groups
// have them in bytes g and 4+g; the others have the lower four bits in the halves of
// byte 4+g and the upper two bits in the top of bytes g-4 and g.
func sixBits(b *[12]byte, g int) (s, t byte) {
	if g < 4 {
		return b[g] & 63, b[4+g] & 63
	}
	return b[4+g]&15 | b[g-4]>>6<<4, b[4+g]>>4 | b[g]>>6<<4
}

// packQ6K: in each half of the block, byte i of 64 holds the lower bits of columns i
// and 64+i, byte i of 32 the upper bits of columns i, 32+i, 64+i and 96+i.
func packQ6K(block []byte, in *[q6kRow]byte, r int) {
	copyHalf(block[2*r:], in[208:])
	for g := range blockGroups {
		group := block[q6kHead+g*q6kGroup:][:q6kGroup]
		half, k := g/4, g%4
		word := func(from, step, shift int, mask uint32) uint32 {
			return binary.LittleEndian.Uint32(in[from+4*step:]) >> shift & mask
		}
		low := func(step int) uint32 { return word(64*half+k%2*32, step, k/2*4, lowerHalves) }
		high := func(step int) uint32 { return word(128+32*half, step, 2*k, 0x03030303) }
		for u := range 2 {
			part := group[u*Q6KPart+4*r:]
			binary.LittleEndian.PutUint32(part, low(2*u)|low(2*u+4)<<4)
			binary.LittleEndian.PutUint32(part[4*PanelRows:], low(2*u+1)|low(2*u+5)<<4)
			binary.LittleEndian.PutUint32(part[2*4*PanelRows:], high(2*u)|high(2*u+4)<<2|high(2*u+1)<<4|high(2*u+5)<<6)
		}
		group[2*Q6KPart+r], group[2*Q6KPart+PanelRows+r] = in[192+2*g], in[193+2*g]
	}
}
