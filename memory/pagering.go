package memory

import (
	"math/bits"

	"github.com/troupe-engine/troupe/messages"
)

// pageRing is a queue of pages, kept as runs of consecutive ones in an array
// that doubles when it is full. Its size is a power of two.
type pageRing struct {
	runs  []pageRun
	head  int // index of the first run
	count int // runs
	pages int
}

// at is the i-th run from the head.
func (r *pageRing) at(i int) *pageRun { return &r.runs[(r.head+i)&(len(r.runs)-1)] }

// put appends a run.
func (r *pageRing) put(run pageRun) {
	r.pages += int(run.n)
	if r.count > 0 {
		if last := r.at(r.count - 1); last.first+last.n == run.first {
			last.n += run.n
			return
		}
	}
	if r.count == len(r.runs) {
		bigger := make([]pageRun, 1<<bits.Len(uint(r.count)))
		n := copy(bigger, r.runs[r.head:])
		copy(bigger[n:], r.runs)
		r.runs, r.head = bigger, 0
	}
	r.count++
	*r.at(r.count - 1) = run
}

// take removes the first run, or its first limit pages if it is longer.
func (r *pageRing) take(limit int) pageRun {
	first := r.at(0)
	run := *first
	if int(run.n) > limit {
		run.n = messages.Page(limit)
		first.first += run.n
		first.n -= run.n
	} else {
		r.head = (r.head + 1) & (len(r.runs) - 1)
		r.count--
	}
	r.pages -= int(run.n)
	return run
}
