package memory

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Allocator is the list of free pages of a pool whose pages are 1..total; page
// 0 absorbs padding and is never handed out.
//
// Order: first in, first out. Pages that were never out come first, lowest
// first; behind them stand the returned ones, the earliest Release first and
// within one Release in the order given. Equal calls give equal pages.
//
// Invariants:
//
//  1. used has a bit for exactly the pages that are out.
//  2. returned holds the pages below fresh that are not out, each once, and the
//     stale ones: pages that AllocContiguous took out of its middle.
//  3. Free() = len(returned) - stale + total - fresh + 1.
//
// Alloc and Release are linear in their pages and move them in bulk; a run of
// consecutive pages costs two word operations per 64 pages for the bitmap.
// Not safe for concurrent use.
type Allocator struct {
	total    int
	fresh    messages.Page // the lowest page that was never out
	returned pageRing
	used     pageSet
	skip     pageSet // stale pages in returned; made by the first AllocContiguous
	stale    int     // pages in skip
}

// NewAllocator returns an allocator with all of total pages free.
func NewAllocator(total int) *Allocator {
	invariants.Check(total >= 0 && total < 1<<31-1, "a pool of %d pages", total)
	return &Allocator{total: total, fresh: 1, used: make(pageSet, total/64+1)}
}

// Total is the number of pages of the pool.
func (a *Allocator) Total() int { return a.total }

// Free is the number of free pages.
func (a *Allocator) Free() int { return a.returned.len() - a.stale + a.total - int(a.fresh) + 1 }

// Alloc appends n pages to into. When fewer are free it takes none and
// returns false.
func (a *Allocator) Alloc(n int, into []messages.Page) ([]messages.Page, bool) {
	if n < 0 {
		invariants.Fail("allocating %d pages", n)
	}
	if n > a.Free() {
		return into, false
	}
	if k := min(n, a.total-int(a.fresh)+1); k > 0 {
		a.used.addRun(a.fresh, k)
		for range k {
			into = append(into, a.fresh)
			a.fresh++
		}
		n -= k
	}
	start := len(into)
	if a.stale == 0 {
		into = a.returned.take(n, into)
	} else {
		into = a.takeValid(n, into)
	}
	a.used.add(into[start:])
	return into, true
}

// takeValid takes n pages from the ring and drops the stale ones that it meets.
func (a *Allocator) takeValid(n int, into []messages.Page) []messages.Page {
	for n > 0 {
		page := a.returned.pop()
		if a.stale > 0 && a.skip.has(page) {
			a.skip.removeRun(page, 1)
			a.stale--
			continue
		}
		into = append(into, page)
		n--
	}
	return into
}

// Release takes pages back. A page that is not out, or that the pool does not
// have, is a broken invariant.
func (a *Allocator) Release(pages []messages.Page) {
	for _, page := range pages {
		if page < 1 || int(page) > a.total {
			invariants.Fail("page %d freed, of a pool of pages 1..%d", page, a.total)
		}
	}
	if twice := a.used.remove(pages); twice != 0 {
		invariants.Fail("page %d freed twice", twice)
	}
	if a.stale == 0 {
		a.returned.put(pages)
		return
	}
	for i, page := range pages {
		if a.skip.has(page) {
			// Its old place in the ring is good again.
			a.skip.removeRun(page, 1)
			a.stale--
		} else {
			a.returned.put(pages[i : i+1])
		}
	}
}

// FreePages appends the free pages in the order in which Alloc would hand them
// out. For tests and for views of small pools.
func (a *Allocator) FreePages(into []messages.Page) []messages.Page {
	for page := a.fresh; int(page) <= a.total; page++ {
		into = append(into, page)
	}
	for i := range a.returned.len() {
		if page := a.returned.at(i); a.stale == 0 || !a.skip.has(page) {
			into = append(into, page)
		}
	}
	return into
}
