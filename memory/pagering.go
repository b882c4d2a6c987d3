package memory

import (
	"math/bits"

	"github.com/troupe-engine/troupe/messages"
)

// pageRing is a queue of pages in an array that doubles when it is full. Its
// size is a power of two.
type pageRing struct {
	pages []messages.Page
	head  int // index of the first page
	count int
}

func (r *pageRing) len() int { return r.count }

// at is the i-th page from the head.
func (r *pageRing) at(i int) messages.Page { return r.pages[(r.head+i)&(len(r.pages)-1)] }

// put appends pages, in at most two copies.
func (r *pageRing) put(pages []messages.Page) {
	if need := r.count + len(pages); need > len(r.pages) {
		bigger := make([]messages.Page, 1<<bits.Len(uint(need-1)))
		r.peek(bigger[:r.count])
		r.pages, r.head = bigger, 0
	}
	tail := (r.head + r.count) & max(0, len(r.pages)-1)
	n := copy(r.pages[tail:], pages)
	copy(r.pages, pages[n:])
	r.count += len(pages)
}

// peek copies the first len(into) pages.
func (r *pageRing) peek(into []messages.Page) {
	n := copy(into, r.pages[r.head:])
	copy(into[n:], r.pages)
}

// take removes the first n pages and appends them to into.
func (r *pageRing) take(n int, into []messages.Page) []messages.Page {
	if n == 0 {
		return into
	}
	first := r.pages[r.head:min(r.head+n, len(r.pages))]
	into = append(into, first...)
	into = append(into, r.pages[:n-len(first)]...)
	r.head = (r.head + n) & (len(r.pages) - 1)
	r.count -= n
	return into
}

// pop removes the first page.
func (r *pageRing) pop() messages.Page {
	page := r.pages[r.head]
	r.head = (r.head + 1) & (len(r.pages) - 1)
	r.count--
	return page
}
