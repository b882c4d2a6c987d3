package cpu

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/attn"
)

// segment is the number of positions with a softmax of their own, counted from the start
// of the sequence. A query's segments are merged in order, so any number of threads may
// compute them at once, with the same bits.
const segment = 8 * attn.BlockSlots

// segmentsTo is the number of segments of positions 0 to end-1.
func segmentsTo(end int) int { return (end + segment - 1) / segment }

// attention is causal attention with an online softmax over blocks of 64 positions (Dao
// et al. 2022, "FlashAttention", algorithm 1, one pass). A unit is one KV head for a
// span: its keys and values are looked up once for all queries of the tile.
type attention struct {
	op    gpu.Attention
	group int // query heads of one KV head
}

// units counts from the last span, which usually has most to do.
func (a *attention) units(s *step) int { return len(s.spans) * s.program.KV.Heads }

func (a *attention) run(s *step, w *scratch, unit int) error {
	heads := s.program.KV.Heads
	span := &s.spans[len(s.spans)-1-unit/heads]
	head := heads - 1 - unit%heads
	t := attending{attention: a, s: s, w: w, tile: s.tiles[span.tile], head: head, dim: s.program.KV.HeadDim}
	t.rows = t.tile.n * a.group
	t.width = attn.AccWidth(t.dim)
	if span.split == nil {
		for i := span.from; i < span.to; i++ {
			t.segment(i)
			t.merge(i, &w.sums)
		}
		t.finish()
		return nil
	}
	for i := span.from; i < span.to; i++ {
		t.segment(i)
		span.split.sums(head, i, t.rows, t.width).copy(&w.sums, t.rows, t.width)
	}
	if span.split.done(head, span.to-span.from) {
		for i := range span.split.segments {
			sums := span.split.sums(head, i, t.rows, t.width)
			t.merge(i, &sums)
		}
		t.finish()
	}
	return nil
}

// sums is the state of rows of queries: weighted sums of values, [rows][width],
// relative to e^peak, and what they must be divided by at the end.
type sums struct {
	acc           []float32
	peaks, totals []float32
}

func newSums(rows, width int) sums { return sumsIn(make([]float32, sumsLen(rows, width)), rows, width) }

func sumsLen(rows, width int) int { return rows * (width + 2) }

// sumsIn are sums in memory of sumsLen.
func sumsIn(x []float32, rows, width int) sums {
	n := rows * width
	return sums{x[:n:n], x[n : n+rows : n+rows], x[n+rows : n+2*rows : n+2*rows]}
}

func (to sums) copy(from *sums, rows, width int) {
	copy(to.acc, from.acc[:rows*width])
	copy(to.peaks, from.peaks[:rows])
	copy(to.totals, from.totals[:rows])
}

// attending is one running unit. A row is a query. The rows of one token are the heads of
// the group; those of several are all tokens for one head, then for the next.
type attending struct {
	*attention
	s                      *step
	w                      *scratch
	tile                   queryTile
	head, dim, rows, width int
}

// row returns the part of buffer b for row r.
func (t *attending) row(b gpu.Buffer, r int) []float32 {
	x := t.s.row(b, t.tile.row+r%t.tile.n)
	at := (t.head*t.group + r/t.tile.n) * t.dim
	return x[at : at+t.dim : at+t.dim]
}

// segment computes segment i for all rows that see it, into w.sums.
func (t *attending) segment(i int) {
	w, s, sums := t.w, t.s, &t.w.sums
	clear(sums.acc[:t.rows*t.width])
	for r := range t.rows {
		sums.peaks[r], sums.totals[r] = attn.NoScore, 0
	}
	end := int(s.pos[t.tile.row+t.tile.n-1]) + 1
	reader := w.reader(s, s.sequences[t.tile.seq].Pages, t.op.Layer, t.head, end, t.tile.n > 1)
	for from := i * segment; from < min(end, (i+1)*segment); from += attn.BlockSlots {
		b := reader.read(from)
		if t.tile.n == 1 {
			w.seen[0] = int32(min(attn.BlockSlots, end-from))
			for r := 1; r < t.rows; r++ {
				w.seen[r] = w.seen[0]
			}
			t.attend(b, 0, t.rows, t.dim)
			continue
		}
		// Tokens before the block's first position do not see it.
		first := max(0, from-int(s.pos[t.tile.row]))
		for token := first; token < t.tile.n; token++ {
			w.seen[token] = int32(min(attn.BlockSlots, int(s.pos[t.tile.row+token])+1-from))
		}
		w.seenFrom = first
		for g := range t.group {
			t.attend(b, g*t.tile.n+first, t.tile.n-first, s.stride(t.op.Q))
		}
	}
}

// attend adds a block to n rows, whose queries are ldq apart. Later tokens see more
// positions. All rows of a part see what its first one sees; the other positions are
// added row by row, so that no weight of 0 is multiplied by a value that may be NaN.
func (t *attending) attend(b *kvBlock, row, n, ldq int) {
	l, w, sums := t.s.level, t.w, &t.w.sums
	q := t.s.buffers[t.op.Q]
	at := (t.tile.row+row%t.tile.n)*t.s.stride(t.op.Q) + (t.head*t.group+row/t.tile.n)*t.dim
	scores, seen, part := w.scores[:n*attn.BlockSlots], w.seen[:n], n
	if t.tile.n > 1 {
		seen, part = w.seen[w.seenFrom:][:n], attn.QueryTile(l)
	}
	for i := 0; i < n; i += part {
		k := min(part, n-i)
		runs := (int(seen[i+k-1]) + attn.RunSlots - 1) / attn.RunSlots
		attn.Scores(l, b.kind, q[at+i*ldq:], ldq, k, b.base, &b.keys, runs, t.dim, scores[i*attn.BlockSlots:])
	}
	attn.Softmax(l, scores, seen, t.op.Scale, b.keyScales, b.valueScales,
		attn.Weights{Max: sums.peaks[row:], Sums: sums.totals[row:], Rescale: w.shrinks})
	acc := sums.acc[row*t.width:][:n*t.width]
	for i, shrink := range w.shrinks[:n] {
		if shrink != 1 {
			attn.Scale(l, acc[i*t.width:][:t.width], acc[i*t.width:], shrink)
		}
	}
	for i := 0; i < n; i += part {
		k, common := min(part, n-i), int(seen[i])
		attn.Values(l, b.kind, scores[i*attn.BlockSlots:], k, b.base, &b.values, 0, common, t.dim, acc[i*t.width:])
		for j := i + 1; j < i+k; j++ {
			if more := int(seen[j]) - common; more > 0 {
				attn.Values(l, b.kind, scores[j*attn.BlockSlots:], 1, b.base, &b.values, common, more, t.dim, acc[j*t.width:])
			}
		}
	}
}

// merge adds segment i to the rows that see it, in w.merged. Segments are merged in order.
func (t *attending) merge(i int, part *sums) {
	all, l := &t.w.merged, t.s.level
	if i == 0 {
		all.copy(part, t.rows, t.width)
		return
	}
	for r := range t.rows {
		if int(t.s.pos[t.tile.row+r%t.tile.n]) < i*segment {
			continue
		}
		var a, b float32
		all.peaks[r], all.totals[r], a, b = attn.Merge(all.peaks[r], all.totals[r], part.peaks[r], part.totals[r])
		attn.ScaleAdd(l, all.acc[r*t.width:][:t.width], part.acc[r*t.width:], a, b)
	}
}

// finish writes the rows out.
func (t *attending) finish() {
	all := &t.w.merged
	for r := range t.rows {
		attn.Scale(t.s.level, all.acc[r*t.width:][:t.dim], t.row(t.op.Out, r), 1/all.totals[r])
	}
}
