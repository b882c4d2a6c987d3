package cpu

import "sync/atomic"

// queryTile is a run of tokens of one sequence that attend together.
type queryTile struct{ seq, row, n int }

// kvSpan is a unit's part of a tile's attention: segments [from, to) of one KV head.
type kvSpan struct {
	tile, from, to int
	split          *kvSplit // nil: all of the tile's segments
}

// kvSplit is a tile whose segments are computed by several units: by head their sums, and
// how many are missing. The unit that finishes a head's last segment merges them.
type kvSplit struct {
	segments, each int       // each: floats of one segment of one head
	memory         []float32 // [heads][segments][each]
	missing        []atomic.Int32
}

func (p *kvSplit) sums(head, i, rows, width int) sums {
	return sumsIn(p.memory[(head*p.segments+i)*p.each:][:p.each], rows, width)
}

// done counts segments of a head. It is true for the unit that finished the last
// one; the count then starts again for the next layer.
func (p *kvSplit) done(head, segments int) bool {
	if p.missing[head].Add(-int32(segments)) > 0 {
		return false
	}
	p.missing[head].Store(int32(p.segments))
	return true
}

// spansPerThread is the units of attention per thread; several, so that all end together.
const spansPerThread = 4

// planSplits divides the attention of tiles into spans: whole tiles if there are enough,
// fewer segments if one thread would have a long context alone. Results do not change.
func (s *step) planSplits(heads, rowsPerToken, width int) {
	s.spans, s.splits = s.spans[:0], s.splits[:0]
	total := 0
	for i := range s.tiles {
		total += s.segmentsOf(i) * heads
	}
	most := max(1, total/(spansPerThread*s.threads))
	memory := 0
	for i := range s.tiles {
		n := s.segmentsOf(i)
		if n <= most || s.threads == 1 {
			continue
		}
		each := sumsLen(s.tiles[i].n*rowsPerToken, width)
		s.splits = append(s.splits, kvSplit{segments: n, each: each})
		memory += heads * n * each
	}
	s.partial = grow(s.partial, memory)
	s.missing = grow(s.missing, len(s.splits)*heads)
	free, counters, next := s.partial, s.missing, 0
	for i := range s.tiles {
		n := s.segmentsOf(i)
		if n <= most || s.threads == 1 {
			s.spans = append(s.spans, kvSpan{tile: i, to: n})
			continue
		}
		p := &s.splits[next]
		next++
		p.memory, free = free[:heads*n*p.each], free[heads*n*p.each:]
		p.missing, counters = counters[:heads], counters[heads:]
		for h := range p.missing {
			p.missing[h].Store(int32(n))
		}
		for from := 0; from < n; from += most {
			s.spans = append(s.spans, kvSpan{tile: i, from: from, to: min(from+most, n), split: p})
		}
	}
}

// segmentsOf is the number of segments that a tile's last token sees.
func (s *step) segmentsOf(i int) int {
	t := s.tiles[i]
	return segmentsTo(int(s.pos[t.row+t.n-1]) + 1)
}
