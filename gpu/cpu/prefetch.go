package cpu

import (
	"sync/atomic"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// lookahead is a stage of products whose weights waiting workers prefetch, so that memory
// is read while other workers finish a stage or run the small stages between products.
type lookahead struct {
	*linears
	// panels is how many panels a unit had in the last step. 0: there are several blocks
	// of tokens, whose products do not wait for memory.
	panels atomic.Int32
}

// lookAheads makes one for every stage of products, and lists for every stage
// the next one. The last stage is followed by the first one of the next step.
func lookAheads(stages []stage) (at, next []*lookahead) {
	at, next = make([]*lookahead, len(stages)), make([]*lookahead, len(stages))
	for i, s := range stages {
		if l, is := s.(*linears); is {
			at[i] = &lookahead{linears: l}
		}
	}
	var found *lookahead
	for i := 2*len(stages) - 1; i >= 0; i-- {
		i := i % len(stages)
		next[i] = found
		if at[i] != nil {
			found = at[i]
		}
	}
	return at, next
}

const (
	// aheadBytes is how much a worker prefetches: less than the L2 cache holds, more
	// than it can read in the time of a small stage.
	aheadBytes = 256 << 10
	// aheadChunk is what it prefetches before it checks again whether there is a unit.
	aheadChunk = 4 << 10
	lineBytes  = 64
)

// wait prefetches for a worker that found no unit, until the next stage is opened.
func (s *step) wait(worker int, state uint64) {
	w := s.scratch[worker]
	next := s.next[w.at]
	if next == nil {
		return
	}
	if w.fetchedOf != next {
		w.fetchedOf, w.fetched = next, 0
	}
	for w.fetched < aheadBytes && !s.workers.over(state) {
		b := next.bytes(worker, len(s.scratch), w.fetched)
		if len(b) == 0 {
			return
		}
		simd.Prefetch(b, lineBytes)
		w.fetched += len(b)
	}
}

// store stores how the stage is split in this step.
func (a *lookahead) store() {
	panels := 0
	if a.now.blocks == 1 {
		panels = a.now.panels
	}
	a.panels.Store(int32(panels))
}

// bytes is the chunk that begins at bytes after the first byte that a worker will read.
func (a *lookahead) bytes(worker, workers, at int) []byte {
	each := int(a.panels.Load())
	if each == 0 {
		return nil
	}
	unit, _ := span(a.unitsOf(each), workers, worker)
	op, panel := a.find(unit, each)
	w := op.w
	run := min(each, layout.Panels(w.rows)-panel) * w.form.PanelBytes(w.cols)
	if a.silu != nil && at >= run {
		w, at = a.ops[1].w, at-run
	}
	b := w.panel(panel)
	if at >= len(b) {
		return nil
	}
	return b[at:min(at+aheadChunk, len(b))]
}
