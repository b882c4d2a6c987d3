package kernel

import (
	"encoding/binary"
	"math"
)

// intBlocksPortable is IntGemm of Q41, Q4K and Q6K in plain Go. Products are
// rounded before they are added.
func intBlocksPortable(f Form, panel []byte, groups int, x []byte, tokens int, y []float32, ldy int, add bool) {
	if !add {
		for t := range tokens {
			clear(y[t*ldy : t*ldy+PanelRows])
		}
	}
	var values [GroupCols]int8
	var w [GroupCols]int32
	var acts [8][GroupCols]int32 // Portable.TileTokens()
	for g := range groups {
		head, group := groupOfBlock(f, panel, g)
		tile := x[g*tokens*intTokenBytes : (g+1)*tokens*intTokenBytes]
		at := func(step, t int) uint32 { return binary.LittleEndian.Uint32(tile[4*(step*tokens+t):]) }
		for t := range tokens {
			for s := range 8 {
				a := at(s, t)
				acts[t][4*s], acts[t][4*s+1] = int32(int8(a)), int32(int8(a>>8))
				acts[t][4*s+2], acts[t][4*s+3] = int32(int8(a>>16)), int32(int8(a>>24))
			}
		}
		for r := range PanelRows {
			valuesOfRow(f, group, r, &values)
			for c, v := range values {
				w[c] = int32(v)
			}
			if f == Q6K {
				d := halfValue(binary.NativeEndian.Uint16(head[2*r:]))
				first, second := int32(int8(group[2*q6kPart+r])), int32(int8(group[2*q6kPart+PanelRows+r]))
				for t := range tokens {
					a := &acts[t]
					sum := first*dot16((*[16]int32)(w[:]), (*[16]int32)(a[:])) + second*dot16((*[16]int32)(w[16:]), (*[16]int32)(a[16:]))
					y[t*ldy+r] += float32(float32(sum) * float32(d*math.Float32frombits(at(9, t))))
				}
				continue
			}
			scale, offset := scaleAndOffset(f, head, group, r)
			for t := range tokens {
				a := &acts[t]
				sum := dot16((*[16]int32)(w[:]), (*[16]int32)(a[:])) + dot16((*[16]int32)(w[16:]), (*[16]int32)(a[16:]))
				all := int32(at(8, t)) / -128
				product := float32(float32(sum)*scale) + float32(float32(all)*offset)
				y[t*ldy+r] += float32(product * math.Float32frombits(at(9, t)))
			}
		}
	}
}

func dot16(w, a *[16]int32) int32 {
	sum := w[0]*a[0] + w[1]*a[1] + w[2]*a[2] + w[3]*a[3]
	sum += w[4]*a[4] + w[5]*a[5] + w[6]*a[6] + w[7]*a[7]
	sum += w[8]*a[8] + w[9]*a[9] + w[10]*a[10] + w[11]*a[11]
	return sum + w[12]*a[12] + w[13]*a[13] + w[14]*a[14] + w[15]*a[15]
}
