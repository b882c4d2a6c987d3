package pages

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Allocator is the list of free pages of a pool whose pages are 1..total; page
// 0 absorbs padding and is never handed out.
//
// Order: first in, first out. Pages that were never allocated come first, lowest first;
// then the released ones in the order of their release. Equal calls give equal pages.
//
// Invariants:
//
//  1. used has a bit for exactly the allocated pages.
//  2. free holds each free page once, and the stale ones: pages that
//     AllocContiguous took out of its middle.
//  3. Free() = pages of free - stale.
//
// Free pages are stored, marked and checked as runs of consecutive ones, so a page of a
// long run costs well under a nanosecond, and a single page some nanoseconds.
type Allocator struct {
	total int
	free  ring
	used  set
	skip  set // stale pages in free; made by the first AllocContiguous
	stale int // pages in skip
}

// NewAllocator returns an allocator with all of total pages free.
func NewAllocator(total int) *Allocator {
	invariants.Check(total >= 0 && total < 1<<31-1, "a pool of %d pages", total)
	a := &Allocator{total: total, used: make(set, total/64+1)}
	if total > 0 {
		a.free.put(messages.PageRun{First: 1, N: messages.Page(total)})
	}
	return a
}

func (a *Allocator) Total() int { return a.total }

func (a *Allocator) Free() int { return a.free.pages - a.stale }

// Alloc appends n pages to into. If fewer are free it takes none and returns false.
func (a *Allocator) Alloc(n int, into []messages.Page) ([]messages.Page, bool) {
	if n < 0 {
		invariants.Fail("allocating %d pages", n)
	}
	if n > a.Free() {
		return into, false
	}
	for n > 0 {
		limit := n
		if a.stale > 0 {
			limit = 1 // any page may be stale
		}
		run := a.free.take(limit)
		if a.stale > 0 && a.skip.has(run.First) {
			a.skip.remove(run)
			a.stale--
			continue
		}
		a.used.add(run)
		into = run.AppendTo(into)
		n -= int(run.N)
	}
	return into, true
}

// Release frees pages. A page that is free or outside the pool is a broken invariant.
func (a *Allocator) Release(pages []messages.Page) {
	for len(pages) > 0 {
		run := messages.FirstRun(pages)
		pages = pages[run.N:]
		a.release(run)
	}
}

// ReleaseRuns frees the pages of runs, in order. An empty run is a broken invariant.
func (a *Allocator) ReleaseRuns(runs []messages.PageRun) {
	for _, run := range runs {
		a.release(run)
	}
}

func (a *Allocator) release(run messages.PageRun) {
	if end := int(run.First) + int(run.N); run.First < 1 || run.N < 1 || end > a.total+1 {
		invariants.Fail("pages %d to %d freed, of a pool of pages 1..%d", run.First, end-1, a.total)
	}
	if twice := a.used.remove(run); twice != 0 {
		invariants.Fail("page %d freed twice", twice)
	}
	if a.stale == 0 {
		a.free.put(run)
	} else {
		a.putBack(run)
	}
}

// putBack is put for a ring with stale pages: one that comes back is no longer stale.
func (a *Allocator) putBack(run messages.PageRun) {
	for page := run.First; page < run.First+run.N; page++ {
		one := messages.PageRun{First: page, N: 1}
		if a.skip.has(page) {
			a.skip.remove(one)
			a.stale--
		} else {
			a.free.put(one)
		}
	}
}

// FreePages appends the free pages in the order of Alloc, for tests and small views.
func (a *Allocator) FreePages(into []messages.Page) []messages.Page {
	for i := range a.free.count {
		for _, page := range a.free.at(i).AppendTo(nil) {
			if a.stale == 0 || !a.skip.has(page) {
				into = append(into, page)
			}
		}
	}
	return into
}

// claim gives every free page its owner in a snapshot.
func (a *Allocator) claim(s *messages.Snapshot) {
	for i := range a.free.count {
		run := *a.free.at(i)
		if a.stale == 0 {
			s.Claim(run, messages.PageFree)
			continue
		}
		for page := run.First; page < run.First+run.N; page++ {
			if !a.skip.has(page) {
				s.Claim(messages.PageRun{First: page, N: 1}, messages.PageFree)
			}
		}
	}
}
