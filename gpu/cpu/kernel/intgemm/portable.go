package intgemm

import (
	"encoding/binary"
	"math"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
)

// multiplyPortable is Multiply in plain Go. The halves of an int64 hold two rows, so one
// multiplication serves both: a sum of products has 21 bits at most, sign included.
// Products of floats are rounded before they are added.
func multiplyPortable(f layout.Form, panel []byte, groups int, x []byte, tokens int, y []float32, ldy int, add bool) {
	if !add {
		clearRows(y, tokens, ldy)
	}
	var w [layout.GroupCols]int64
	var acts [8]actsOfGroup // layout.TileTokens(simd.Portable)
	for g := range groups {
		head, group := layout.Group(f, panel, g)
		tile := x[g*tokens*tokenBytes : (g+1)*tokens*tokenBytes]
		for t := range tokens {
			acts[t].read(tile, t, tokens)
		}
		switch f {
		case layout.Q8, layout.Q4:
			addScaled(f, group, acts[:tokens], y, ldy)
		case layout.Q6K:
			addSix(head, group, &w, acts[:tokens], y, ldy)
		default:
			addMinimums(f, head, group, &w, acts[:tokens], y, ldy)
		}
	}
}

// addScaled adds a group of Q8 or Q4.
func addScaled(f layout.Form, group []byte, acts []actsOfGroup, y []float32, ldy int) {
	shift := 0
	if f == layout.Q4 {
		shift = 4 // the weights' offset is 8 instead of 128
	}
	scales := layout.Halves(group[len(group)-2*layout.PanelRows:])
	var w [layout.GroupCols]int64
	for r := 0; r < layout.PanelRows; r += 2 {
		twoRows(f, group, r, &w)
		scale0, scale1 := gpu.FromF16(scales[r]), gpu.FromF16(scales[r+1])
		for t := range acts {
			a := &acts[t]
			x, sum := &a.x, int64(0)
			for c := 0; c < layout.GroupCols; c += 4 {
				sum += w[c]*x[c] + w[c+1]*x[c+1] + w[c+2]*x[c+2] + w[c+3]*x[c+3]
			}
			sum0, sum1 := halves(sum)
			correction := a.correction >> shift
			out := y[t*ldy+r : t*ldy+r+2]
			out[0] += float32(float32(sum0+correction) * float32(scale0*a.scale))
			out[1] += float32(float32(sum1+correction) * float32(scale1*a.scale))
		}
	}
}

// addMinimums adds a group of Q41 or Q4K; w is scratch.
func addMinimums(f layout.Form, head, group []byte, w *[layout.GroupCols]int64, acts []actsOfGroup, y []float32, ldy int) {
	for r := 0; r < layout.PanelRows; r += 2 {
		twoRows(layout.Q4, group, r, w)
		scale0, offset0 := layout.ScaleAndOffset(f, head, group, r)
		scale1, offset1 := layout.ScaleAndOffset(f, head, group, r+1)
		for t := range acts {
			a := &acts[t]
			first0, first1 := twoSums((*[16]int64)(w[:]), (*[16]int64)(a.x[:]))
			second0, second1 := twoSums((*[16]int64)(w[16:]), (*[16]int64)(a.x[16:]))
			product0 := float32(float32(first0+second0)*scale0) + float32(a.all*offset0)
			product1 := float32(float32(first1+second1)*scale1) + float32(a.all*offset1)
			out := y[t*ldy+r : t*ldy+r+2]
			out[0] += float32(product0 * a.scale)
			out[1] += float32(product1 * a.scale)
		}
	}
}

// addSix adds a group of Q6K; w is scratch.
func addSix(head, group []byte, w *[layout.GroupCols]int64, acts []actsOfGroup, y []float32, ldy int) {
	factors, scales := layout.Halves(head), group[2*layout.Q6KPart:]
	for r := 0; r < layout.PanelRows; r += 2 {
		twoRowsOfSix(group, r, w)
		d0, d1, s := gpu.FromF16(factors[r]), gpu.FromF16(factors[r+1]), scales[r:]
		first0, first1, second0, second1 := int32(int8(s[0])), int32(int8(s[1])), int32(int8(s[layout.PanelRows])), int32(int8(s[layout.PanelRows+1]))
		for t := range acts {
			a := &acts[t]
			a0, a1 := twoSums((*[16]int64)(w[:]), (*[16]int64)(a.x[:]))
			b0, b1 := twoSums((*[16]int64)(w[16:]), (*[16]int64)(a.x[16:]))
			sum0, sum1 := first0*(a0-a.first)+second0*(b0-a.second), first1*(a1-a.first)+second1*(b1-a.second)
			out := y[t*ldy+r : t*ldy+r+2]
			out[0] += float32(float32(sum0) * float32(d0*a.scale))
			out[1] += float32(float32(sum1) * float32(d1*a.scale))
		}
	}
}

// actsOfGroup are the activations of a token in a group.
type actsOfGroup struct {
	x             [layout.GroupCols]int64
	first, second int32   // 32 times their sum, of columns 0 to 15 and of 16 to 31
	correction    int32   // -128 times their sum
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
	a.correction, a.scale = int32(at(8)), math.Float32frombits(at(9))
	all := a.correction / -128
	a.first, a.all = 32*int32(sum), float32(all)
	a.second = 32*all - a.first
}

// twoSums returns the sums of the two rows in w.
func twoSums(w, a *[16]int64) (lower, upper int32) {
	sum := w[0]*a[0] + w[1]*a[1] + w[2]*a[2] + w[3]*a[3]
	sum += w[4]*a[4] + w[5]*a[5] + w[6]*a[6] + w[7]*a[7]
	sum += w[8]*a[8] + w[9]*a[9] + w[10]*a[10] + w[11]*a[11]
	sum += w[12]*a[12] + w[13]*a[13] + w[14]*a[14] + w[15]*a[15]
	return halves(sum)
}

// halves splits the sums of two rows. A negative lower one has borrowed from the upper.
func halves(sum int64) (lower, upper int32) {
	lower = int32(sum)
	return lower, int32((sum - int64(lower)) >> 32)
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
