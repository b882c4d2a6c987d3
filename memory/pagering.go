package memory

import (
	"math/bits"

	"github.com/troupe-engine/troupe/messages"
)

// pageRun is n consecutive pages.
type pageRun struct{ first, n messages.Page }

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

// runOf is the longest run that pages, not empty, begin with.
func runOf(pages []messages.Page) pageRun {
	const block = 8
	first, n := pages[0], 1
	for ; n+block <= len(pages); n += block {
		p, at := (*[block]messages.Page)(pages[n:]), first+messages.Page(n)
		if (p[0]-at)|(p[1]-at-1)|(p[2]-at-2)|(p[3]-at-3)|(p[4]-at-4)|(p[5]-at-5)|(p[6]-at-6)|(p[7]-at-7) != 0 {
			break
		}
	}
	for n < len(pages) && pages[n] == first+messages.Page(n) {
		n++
	}
	return pageRun{first, messages.Page(n)}
}

// appendTo appends the pages of a run.
func (run pageRun) appendTo(into []messages.Page) []messages.Page {
	at := len(into)
	if need := at + int(run.n); need <= cap(into) {
		into = into[:need]
	} else {
		into = append(into, make([]messages.Page, run.n)...)
	}
	for i := range into[at:] {
		into[at+i] = run.first + messages.Page(i)
	}
	return into
}
