package memory

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Allocator is the list of free pages of a pool whose pages are 1..total; page
// 0 absorbs padding and is never handed out.
//
// Order: pages that were given back come first, the latest Release first and
// within one Release in the order given; then pages never used yet, lowest first.
// So a device that maps memory on first touch touches as little as possible.
//
// Invariants:
//
//  1. used has a bit for exactly the pages that are out.
//  2. returned holds exactly the pages below fresh that are not out.
//  3. Free() = len(returned) + total - fresh + 1.
//
// Alloc and Release are linear in their pages. Not safe for concurrent use.
type Allocator struct {
	total    int
	fresh    messages.Page   // the lowest page that was never out
	returned []messages.Page // stack
	used     []uint64        // bitmap by page
}

// NewAllocator returns an allocator with all of total pages free.
func NewAllocator(total int) *Allocator {
	invariants.Check(total >= 0 && total < 1<<31-1, "a pool of %d pages", total)
	return &Allocator{total: total, fresh: 1, used: make([]uint64, total/64+1)}
}

// Total is the number of pages of the pool.
func (a *Allocator) Total() int { return a.total }

// Free is the number of free pages.
func (a *Allocator) Free() int { return len(a.returned) + a.total - int(a.fresh) + 1 }

// Alloc appends n pages to into. When fewer are free it takes none and
// returns false.
func (a *Allocator) Alloc(n int, into []messages.Page) ([]messages.Page, bool) {
	if n < 0 {
		invariants.Fail("allocating %d pages", n)
	}
	if n > a.Free() {
		return into, false
	}
	for ; n > 0; n-- {
		var page messages.Page
		if last := len(a.returned) - 1; last >= 0 {
			page, a.returned = a.returned[last], a.returned[:last]
		} else {
			page = a.fresh
			a.fresh++
		}
		a.used[page/64] |= 1 << (page % 64)
		into = append(into, page)
	}
	return into, true
}

// Release takes pages back. A page that is not out, or that the pool does not
// have, is a broken invariant.
func (a *Allocator) Release(pages []messages.Page) {
	for i := len(pages) - 1; i >= 0; i-- {
		page := pages[i]
		if page < 1 || int(page) > a.total {
			invariants.Fail("page %d freed, of a pool of pages 1..%d", page, a.total)
		}
		bit := uint64(1) << (page % 64)
		if a.used[page/64]&bit == 0 {
			invariants.Fail("page %d freed twice", page)
		}
		a.used[page/64] &^= bit
		a.returned = append(a.returned, page)
	}
}
