package pages

import (
	"math/bits"

	"github.com/troupe-engine/troupe/messages"
)

// ring is a queue of pages, kept as runs of consecutive ones in an array
// that doubles when it is full. Its size is a power of two.
type ring struct {
	runs  []messages.PageRun
	head  int // index of the first run
	count int // runs
	pages int
}

func (r *ring) at(i int) *messages.PageRun { return &r.runs[(r.head+i)&(len(r.runs)-1)] }

func (r *ring) put(run messages.PageRun) {
	r.pages += int(run.N)
	if r.count > 0 {
		if last := r.at(r.count - 1); last.First+last.N == run.First {
			last.N += run.N
			return
		}
	}
	if r.count == len(r.runs) {
		bigger := make([]messages.PageRun, 1<<bits.Len(uint(r.count)))
		n := copy(bigger, r.runs[r.head:])
		copy(bigger[n:], r.runs)
		r.runs, r.head = bigger, 0
	}
	r.count++
	*r.at(r.count - 1) = run
}

// take removes the first run, or its first limit pages if it is longer.
func (r *ring) take(limit int) messages.PageRun {
	first := r.at(0)
	run := *first
	if int(run.N) > limit {
		run.N = messages.Page(limit)
		first.First += run.N
		first.N -= run.N
	} else {
		r.head = (r.head + 1) & (len(r.runs) - 1)
		r.count--
	}
	r.pages -= int(run.N)
	return run
}
