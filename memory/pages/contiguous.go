package pages

import (
	"fmt"
	"math/bits"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// NotContiguous is the error when no run of consecutive free pages is long enough.
type NotContiguous struct {
	Wanted  int // pages
	Longest int // the longest run of free pages
	Free    int // free pages in all
}

// Error names the three figures and what helps.
func (e *NotContiguous) Error() string {
	return fmt.Sprintf("no %d consecutive pages: %d pages are free, at most %d of them in a row; allocate scattered pages or free some",
		e.Wanted, e.Free, e.Longest)
}

// AllocContiguous appends n consecutive pages to into, the lowest such run. If
// there is none it takes nothing and returns a *NotContiguous, although n pages
// may be free. Its cost is linear in the pool, in words of 64 pages.
func (a *Allocator) AllocContiguous(n int, into []messages.Page) ([]messages.Page, error) {
	if n < 0 {
		invariants.Fail("allocating %d pages", n)
	}
	if n == 0 {
		return into, nil
	}
	start, longest := a.findRun(n)
	if start == 0 {
		return into, &NotContiguous{Wanted: n, Longest: longest, Free: a.Free()}
	}
	run := messages.PageRun{First: start, N: messages.Page(n)}
	// The part below fresh is somewhere in the ring: its entries become stale, and
	// Alloc passes over them.
	if below := min(run.N, a.fresh-start); below > 0 {
		if a.skip == nil {
			a.skip = make(set, len(a.used))
		}
		a.skip.add(messages.PageRun{First: start, N: below})
		a.stale += int(below)
	}
	a.fresh = max(a.fresh, start+run.N)
	a.used.add(run)
	return run.AppendTo(into), nil
}

// findRun returns the first page of the lowest run of n free pages, or 0 and
// the length of the longest run.
func (a *Allocator) findRun(n int) (start messages.Page, longest int) {
	at, length := 1, 0 // the run [at, at+length) is free
	for page := 1; page <= a.total; {
		word := a.used[page/64] >> (page % 64)
		k := min(bits.TrailingZeros64(word), 64-page%64, a.total+1-page) // free from here on
		if length == 0 {
			at = page
		}
		length += k
		longest = max(longest, length)
		if length >= n {
			return messages.Page(at), longest
		}
		page += k
		if word == 0 {
			continue // the run may go on in the next word
		}
		length = 0
		page += bits.TrailingZeros64(^(a.used[page/64] >> (page % 64)))
	}
	return 0, longest
}
