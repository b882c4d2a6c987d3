package intgemm

import (
	"encoding/binary"
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
)

// multiplyPortable is Multiply of Q8 and Q4 in plain Go. The halves of an int64 hold
// two rows, so one multiplication serves both: a sum of products has 21 bits at
// most, sign included. A negative lower half borrows from the upper one, which is
// corrected at the end.
func multiplyPortable(f layout.Form, panel []byte, groups int, x []byte, tokens int, y []float32, ldy int, add bool) {
	if !add {
		for t := range tokens {
			clear(y[t*ldy : t*ldy+layout.PanelRows])
		}
	}
	size, shift := f.PanelBytes(layout.GroupCols), 0
	if f == layout.Q4 {
		shift = 4 // the correction is -8 instead of -128 sums
	}
	var w [layout.GroupCols]int64
	var acts [8][layout.GroupCols]int64 // layout.TileTokens(simd.Portable)
	for g := range groups {
		group, tile := panel[g*size:(g+1)*size], x[g*tokens*tokenBytes:(g+1)*tokens*tokenBytes]
		at := func(step, t int) uint32 { return binary.LittleEndian.Uint32(tile[4*(step*tokens+t):]) }
		for t := range tokens {
			for s := range 8 {
				a := at(s, t)
				acts[t][4*s], acts[t][4*s+1] = int64(int8(a)), int64(int8(a>>8))
				acts[t][4*s+2], acts[t][4*s+3] = int64(int8(a>>16)), int64(int8(a>>24))
			}
		}
		for r := 0; r < layout.PanelRows; r += 2 {
			twoRows(f, group, r, &w)
			scales := binary.LittleEndian.Uint32(group[size-2*layout.PanelRows+2*r:])
			first, second := gpu.FromF16(uint16(scales)), gpu.FromF16(uint16(scales>>16))
			for t := range tokens {
				a, sum := &acts[t], int64(0)
				for c := 0; c < layout.GroupCols; c += 4 {
					sum += w[c]*a[c] + w[c+1]*a[c+1] + w[c+2]*a[c+2] + w[c+3]*a[c+3]
				}
				lo := int32(sum)
				hi := int32((sum - int64(lo)) >> 32)
				correction, scale := int32(at(8, t))>>shift, math.Float32frombits(at(9, t))
				out := y[t*ldy+r : t*ldy+r+2]
				out[0] += float32(float32(lo+correction) * float32(first*scale))
				out[1] += float32(float32(hi+correction) * float32(second*scale))
			}
		}
	}
}

// twoRows extracts the weights of rows r and r+1 of a group, offset included.
func twoRows(f layout.Form, group []byte, r int, w *[layout.GroupCols]int64) {
	const mask = 0xff_0000_00ff
	if f == layout.Q8 {
		for s := range 8 {
			b := binary.LittleEndian.Uint64(group[128*s+4*r:])
			w[4*s], w[4*s+1] = int64(b&mask), int64(b>>8&mask)
			w[4*s+2], w[4*s+3] = int64(b>>16&mask), int64(b>>24&mask)
		}
		return
	}
	const nibble = 0xf_0000_000f
	for s := range 4 {
		b := binary.LittleEndian.Uint64(group[128*s+4*r:])
		for i := range 4 {
			w[4*s+i], w[16+4*s+i] = int64(b>>(8*i)&nibble), int64(b>>(8*i+4)&nibble)
		}
	}
}
