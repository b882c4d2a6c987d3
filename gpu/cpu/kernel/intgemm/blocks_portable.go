package intgemm

import (
	"encoding/binary"
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
)

// blocksPortable is Multiply of Q41, Q4K and Q6K in plain Go, with two rows in
// the halves of an int64 as in multiplyPortable. Products are rounded before they
// are added.
func blocksPortable(f layout.Form, panel []byte, groups int, x []byte, tokens int, y []float32, ldy int, add bool) {
	if !add {
		for t := range tokens {
			clear(y[t*ldy : t*ldy+layout.PanelRows])
		}
	}
	var w [layout.GroupCols]int64
	var acts [8]actsOfGroup // layout.TileTokens(simd.Portable)
	for g := range groups {
		head, group := layout.Group(f, panel, g)
		tile := x[g*tokens*tokenBytes : (g+1)*tokens*tokenBytes]
		for t := range tokens {
			acts[t].read(tile, t, tokens)
		}
		for r := 0; r < layout.PanelRows; r += 2 {
			out := y[r:]
			if f == layout.Q6K {
				twoRowsOfSix(group, r, &w)
				addSix(head, group, r, &w, acts[:tokens], out, ldy)
				continue
			}
			twoRows(layout.Q4, group, r, &w)
			scale, offset := layout.ScaleAndOffset(f, head, group, r)
			scale1, offset1 := layout.ScaleAndOffset(f, head, group, r+1)
			addMinimums([2]float32{scale, scale1}, [2]float32{offset, offset1}, &w, acts[:tokens], out, ldy)
		}
	}
}

// addMinimums adds a group of two rows of Q41 or Q4K.
func addMinimums(scale, offset [2]float32, w *[layout.GroupCols]int64, acts []actsOfGroup, y []float32, ldy int) {
	for t := range acts {
		a := &acts[t]
		first0, first1 := twoSums((*[16]int64)(w[:]), (*[16]int64)(a.x[:]))
		second0, second1 := twoSums((*[16]int64)(w[16:]), (*[16]int64)(a.x[16:]))
		product0 := float32(float32(first0+second0)*scale[0]) + float32(a.all*offset[0])
		product1 := float32(float32(first1+second1)*scale[1]) + float32(a.all*offset[1])
		out := y[t*ldy : t*ldy+2]
		out[0] += float32(product0 * a.scale)
		out[1] += float32(product1 * a.scale)
	}
}

// addSix adds a group of rows r and r+1 of Q6K.
func addSix(head, group []byte, r int, w *[layout.GroupCols]int64, acts []actsOfGroup, y []float32, ldy int) {
	d0, d1 := gpu.FromF16(binary.NativeEndian.Uint16(head[2*r:])), gpu.FromF16(binary.NativeEndian.Uint16(head[2*r+2:]))
	s := group[2*layout.Q6KPart+r:]
	first0, first1, second0, second1 := int32(int8(s[0])), int32(int8(s[1])), int32(int8(s[layout.PanelRows])), int32(int8(s[layout.PanelRows+1]))
	for t := range acts {
		a := &acts[t]
		a0, a1 := twoSums((*[16]int64)(w[:]), (*[16]int64)(a.x[:]))
		b0, b1 := twoSums((*[16]int64)(w[16:]), (*[16]int64)(a.x[16:]))
		sum0, sum1 := first0*(a0-a.first)+second0*(b0-a.second), first1*(a1-a.first)+second1*(b1-a.second)
		out := y[t*ldy : t*ldy+2]
		out[0] += float32(float32(sum0) * float32(d0*a.scale))
		out[1] += float32(float32(sum1) * float32(d1*a.scale))
	}
}

// actsOfGroup are the activations of a token in a group.
type actsOfGroup struct {
	x             [layout.GroupCols]int64
	first, second int32   // 32 times their sum, of columns 0 to 15 and of 16 to 31
	all           float32 // their sum
	scale         float32
}

func (a *actsOfGroup) read(tile []byte, t, tokens int) {
	at := func(step int) uint32 { return binary.LittleEndian.Uint32(tile[4*(step*tokens+t):]) }
	sum := int64(0)
	for s := range 8 {
		v, x := at(s), (*[4]int64)(a.x[4*s:])
		x[0], x[1], x[2], x[3] = int64(int8(v)), int64(int8(v>>8)), int64(int8(v>>16)), int64(int8(v>>24))
		if s < 4 {
			sum += x[0] + x[1] + x[2] + x[3]
		}
	}
	all := int32(at(8)) / -128
	a.first, a.all, a.scale = 32*int32(sum), float32(all), math.Float32frombits(at(9))
	a.second = 32*all - a.first
}

// twoSums are the sums of the two rows in w. A negative lower half borrows from the
// upper one, which is corrected.
func twoSums(w, a *[16]int64) (lower, upper int32) {
	sum := w[0]*a[0] + w[1]*a[1] + w[2]*a[2] + w[3]*a[3]
	sum += w[4]*a[4] + w[5]*a[5] + w[6]*a[6] + w[7]*a[7]
	sum += w[8]*a[8] + w[9]*a[9] + w[10]*a[10] + w[11]*a[11]
	sum += w[12]*a[12] + w[13]*a[13] + w[14]*a[14] + w[15]*a[15]
	lower = int32(sum)
	return lower, int32((sum - int64(lower)) >> 32)
}

// twoRowsOfSix extracts rows r and r+1 of a group of Q6K, without subtracting 32.
func twoRowsOfSix(group []byte, r int, w *[layout.GroupCols]int64) {
	const four, two = 0xf_0000_000f, 0x3_0000_0003
	for u := range 2 {
		part := group[u*layout.Q6KPart+4*r:]
		a, b := binary.LittleEndian.Uint64(part), binary.LittleEndian.Uint64(part[4*layout.PanelRows:])
		high := binary.LittleEndian.Uint64(part[2*4*layout.PanelRows:])
		first, second := (*[8]int64)(w[8*u:]), (*[8]int64)(w[16+8*u:])
		for i := range 4 {
			first[i] = int64(a&four | high&two<<4)
			second[i] = int64(a>>4&four | high>>2&two<<4)
			first[4+i] = int64(b&four | high>>4&two<<4)
			second[4+i] = int64(b>>4&four | high>>6&two<<4)
			a, b, high = a>>8, b>>8, high>>8
		}
	}
}
