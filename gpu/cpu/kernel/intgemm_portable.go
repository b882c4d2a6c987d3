package kernel

import (
	"encoding/binary"
	"math"
)

// intGemmPortable is IntGemm in plain Go.
func intGemmPortable(f Form, panel []byte, groups int, x []byte, tokens int, y []float32, ldy int, add bool) {
	if !add {
		for t := range tokens {
			clear(y[t*ldy : t*ldy+PanelRows])
		}
	}
	size, shift := q8Group, 0
	if f == Q4 {
		size, shift = q4Group, 4 // the correction is -8 instead of -128 sums
	}
	for g := range groups {
		group := panel[g*size : (g+1)*size]
		act := x[g*tokens*intTokenBytes : (g+1)*tokens*intTokenBytes]
		for r := range PanelRows {
			var w [GroupCols]int32
			intRow(f, group, r, &w)
			scale := halfValue(binary.LittleEndian.Uint16(group[size-2*PanelRows+2*r:]))
			for t := range tokens {
				sum := int32(binary.LittleEndian.Uint32(act[4*(8*tokens+t):])) >> shift
				for s := range 8 {
					a := binary.LittleEndian.Uint32(act[4*(s*tokens+t):])
					sum += w[4*s]*int32(int8(a)) + w[4*s+1]*int32(int8(a>>8)) +
						w[4*s+2]*int32(int8(a>>16)) + w[4*s+3]*(int32(a)>>24)
				}
				factor := scale * math.Float32frombits(binary.LittleEndian.Uint32(act[4*(9*tokens+t):]))
				y[t*ldy+r] += float32(float32(sum) * factor)
			}
		}
	}
}

// intRow takes the weights of row r out of a group, offset included.
func intRow(f Form, group []byte, r int, w *[GroupCols]int32) {
	if f == Q8 {
		for s := range 8 {
			b := binary.LittleEndian.Uint32(group[128*s+4*r:])
			w[4*s], w[4*s+1], w[4*s+2], w[4*s+3] = int32(b&255), int32(b>>8&255), int32(b>>16&255), int32(b>>24)
		}
		return
	}
	for s := range 4 {
		b := binary.LittleEndian.Uint32(group[128*s+4*r:])
		for i := range 4 {
			e := int32(b >> (8 * i) & 255)
			w[4*s+i], w[16+4*s+i] = e&15, e>>4
		}
	}
}
