package cpu

import (
	"math"

	"github.com/troupe-engine/troupe/gpu"
)

// block is the positions that attention takes at a time, counted from 0 of the
// sequence, so that they are the same for every query and every page size.
const block = 64

// attention is causal attention with an online softmax over blocks (Dao et al.
// 2022, "FlashAttention", algorithm 1, one pass). A unit is one KV head for one
// tile of tokens: keys and values are looked up, and widened, once for all of
// its queries.
type attention struct {
	op    gpu.Attention
	group int // query heads of one KV head
}

func (a *attention) units(s *step) int { return len(s.tiles) * s.program.KV.Heads }

func (a *attention) run(s *step, w *scratch, unit int) error {
	head, tile := unit%s.program.KV.Heads, s.tiles[unit/s.program.KV.Heads]
	dim := s.program.KV.HeadDim
	for i := range tile.n * a.group {
		w.peak[i], w.total[i] = float32(math.Inf(-1)), 0
		clear(a.part(s.row(a.op.Out, tile.row+i/a.group), head, i%a.group, dim))
	}
	pages := s.batch.Sequences[tile.seq].Pages
	end := int(s.pos[tile.row+tile.n-1]) + 1
	for from := 0; from < end; from += block {
		n := min(block, end-from)
		base := w.gather(s.pool, pages, a.op.Layer, head, from, n)
		for i := range tile.n * a.group {
			row := tile.row + i/a.group
			// Positions after the query's own are not looked at.
			if seen := min(n, int(s.pos[row])+1-from); seen > 0 {
				q := a.part(s.row(a.op.Q, row), head, i%a.group, dim)
				out := a.part(s.row(a.op.Out, row), head, i%a.group, dim)
				w.attend(base, q, out, i, seen, a.op.Scale)
			}
		}
	}
	for i := range tile.n * a.group {
		out := a.part(s.row(a.op.Out, tile.row+i/a.group), head, i%a.group, dim)
		for j := range out {
			out[j] /= w.total[i]
		}
	}
	return nil
}

// part is the part of a row that belongs to a query head.
func (a *attention) part(row []float32, head, i, dim int) []float32 {
	at := (head*a.group + i) * dim
	return row[at : at+dim : at+dim]
}

// gather finds n positions of a sequence: keys[j] and values[j] are offsets
// into the array it returns.
func (w *scratch) gather(p *pool, pages []int32, layer, head, from, n int) []float32 {
	keys, values := p.planes(layer, head)
	dim := p.shape.HeadDim
	for j := 0; j < n; {
		// What lies in one page is one run of memory.
		run := min(n-j, p.spec.PageSize-(from+j)&(p.spec.PageSize-1))
		at := p.at(p.slot(pages, from+j))
		k, v := keys+at, values+at
		if p.f32 == nil {
			to := j * dim
			widen(p.spec.DType, w.kv[to:to+run*dim], p.u16[k:k+run*dim])
			k, to = to, (block+j)*dim
			widen(p.spec.DType, w.kv[to:to+run*dim], p.u16[v:v+run*dim])
			v = to
		}
		for end := j + run; j < end; j++ {
			w.keys[j], w.values[j] = k, v
			k, v = k+dim, v+dim
		}
	}
	if p.f32 != nil {
		return p.f32
	}
	return w.kv
}

// attend adds the first n positions of a block to one query's output, which is
// kept relative to exp(peak).
func (w *scratch) attend(base, q, out []float32, query, n int, scale float32) {
	dim := len(q)
	key := func(j int) []float32 { return base[w.keys[j] : w.keys[j]+dim] }
	value := func(j int) []float32 { return base[w.values[j] : w.values[j]+dim] }
	scores := w.scores[:n]
	j := 0
	for ; j+4 <= n; j += 4 {
		scores[j], scores[j+1], scores[j+2], scores[j+3] = dot4(key(j), key(j+1), key(j+2), key(j+3), q)
	}
	for ; j < n; j++ {
		scores[j] = dot(key(j), q)
	}
	peak := w.peak[query]
	for j := range scores {
		scores[j] = float32(scores[j] * scale)
		peak = max(peak, scores[j])
	}
	if shrink := expf(w.peak[query] - peak); shrink != 1 {
		w.total[query] = float32(w.total[query] * shrink)
		for i := range out {
			out[i] = float32(out[i] * shrink)
		}
	}
	total := w.total[query]
	for j := range scores {
		scores[j] -= peak
	}
	expAll(scores)
	for _, x := range scores {
		total += x
	}
	w.peak[query], w.total[query] = peak, total
	for j = 0; j+4 <= n; j += 4 {
		axpy4(out, scores[j], scores[j+1], scores[j+2], scores[j+3], value(j), value(j+1), value(j+2), value(j+3))
	}
	for ; j < n; j++ {
		axpy(out, scores[j], value(j))
	}
}
