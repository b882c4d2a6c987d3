package pages

import (
	"math/bits"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// AllocContiguous appends n consecutive pages to into, the lowest such run. If
// there is none it takes nothing and returns false, although n pages may be free.
// Its cost is linear in the pool, in words of 64 pages.
func (a *Allocator) AllocContiguous(n int, into []messages.Page) ([]messages.Page, bool) {
	if n < 0 {
		invariants.Fail("allocating %d pages", n)
	}
	if n == 0 {
		return into, true
	}
	start := a.findRun(n)
	if start == 0 {
		return into, false
	}
	run := messages.PageRun{First: start, N: messages.Page(n)}
	// The run's entries in the ring become stale, and Alloc passes over them.
	if a.skip == nil {
		a.skip = make(set, len(a.used))
	}
	a.skip.add(run)
	a.stale += n
	a.used.add(run)
	return run.AppendTo(into), true
}

// findRun returns the first page of the lowest run of n free pages, or 0.
func (a *Allocator) findRun(n int) messages.Page {
	at, length := 1, 0 // the run [at, at+length) is free
	for page := 1; page <= a.total; {
		word := a.used[page/64] >> (page % 64)
		k := min(bits.TrailingZeros64(word), 64-page%64, a.total+1-page) // free from here on
		if length == 0 {
			at = page
		}
		length += k
		if length >= n {
			return messages.Page(at)
		}
		page += k
		if word == 0 {
			continue // the run may go on in the next word
		}
		length = 0
		page += bits.TrailingZeros64(^(a.used[page/64] >> (page % 64)))
	}
	return 0
}
