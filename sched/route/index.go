package route

import (
	"math/bits"
	"slices"
)

// pageIndex records which replicas hold which pages: a hash table of pages with a
// set of replicas for each, and an LRU list that bounds it.
//
// A chained hash identifies a whole prefix, so the table acts as a radix tree: a match is
// the longest run of known hashes from the front. A prompt's pages are marked as used
// from the last to the first, so that a prefix is evicted after its continuations.
type pageIndex struct {
	max   int
	words int // of 64 replicas in a set
	slots map[uint64]int32
	// pages are in the LRU list or free. They are in blocks, which are not copied when the
	// index grows: otherwise a call may take 10 ms while the list of a cache comes in.
	pages []*[blockSize]indexed
	sets  [][]uint64 // words for each page, in blocks
	top   int32      // pages below it have been used at least once
	free  []int32
	held  []int    // pages by replica
	alive []uint64 // scratch of match: the replicas that hold all pages so far
}

const (
	blockBits = 10
	blockSize = 1 << blockBits
)

type indexed struct {
	hash       uint64
	prev, next int32
}

// ends is a slot without a page, where both ends of the LRU list meet.
const ends = 0

// A page takes about pageBytes, and wordBytes for each 64 replicas.
const (
	pageBytes = 64
	wordBytes = 8
)

func newPageIndex() pageIndex {
	return pageIndex{slots: map[uint64]int32{}, pages: []*[blockSize]indexed{{}}, sets: [][]uint64{nil}, top: 1}
}

// grow makes room for more replicas, and bounds the pages.
func (x *pageIndex) grow(replicas, max int) {
	words := (replicas + 63) / 64
	for at, old := range x.sets {
		sets := make([]uint64, words*blockSize)
		for i := range blockSize {
			copy(sets[i*words:], old[i*x.words:(i+1)*x.words])
		}
		x.sets[at] = sets
	}
	x.words, x.max, x.alive = words, max, make([]uint64, words)
	x.held = append(x.held, make([]int, replicas-len(x.held))...)
	x.shrink()
}

func (x *pageIndex) set(slot int32) []uint64 {
	i := int(slot&(blockSize-1)) * x.words
	return x.sets[uint32(slot)>>blockBits][i : i+x.words]
}

func (x *pageIndex) page(slot int32) *indexed {
	return &x.pages[uint32(slot)>>blockBits][slot&(blockSize-1)]
}

// match sets into[i] to the number of pages from the front that replica i holds.
func (x *pageIndex) match(pages []uint64, into []int) {
	clear(into)
	for i := range x.alive {
		x.alive[i] = ^uint64(0)
	}
	depth := 0
	for some := true; some && depth < len(pages); {
		slot, ok := x.slots[pages[depth]]
		if !ok {
			break
		}
		some = false
		for w, set := range x.set(slot) {
			if depth > 0 {
				record(into, w, x.alive[w]&^set, depth)
			}
			x.alive[w] &= set
			some = some || x.alive[w] != 0
		}
		depth++
	}
	if depth == 0 {
		return
	}
	for w, left := range x.alive {
		record(into, w, left, depth)
	}
}

// record sets the depth of the replicas in a word of a set.
func record(into []int, word int, set uint64, depth int) {
	for ; set != 0; set &= set - 1 {
		into[word*64+bits.TrailingZeros64(set)] = depth
	}
}

// add records that a replica holds pages, or soon will.
func (x *pageIndex) add(replica int, pages []uint64) {
	for i := len(pages) - 1; i >= 0; i-- {
		slot, ok := x.slots[pages[i]]
		if ok {
			x.unlink(slot)
		} else {
			slot = x.take(pages[i])
		}
		x.link(slot)
		word, bit := &x.set(slot)[replica/64], uint64(1)<<(replica%64)
		if *word&bit == 0 {
			*word |= bit
			x.held[replica]++
		}
	}
	x.shrink()
}

// shrink drops the pages that are too many.
func (x *pageIndex) shrink() {
	for len(x.slots) > x.max {
		x.drop(x.page(ends).prev)
	}
}

// take finds a slot for a new page that no replica holds.
func (x *pageIndex) take(hash uint64) int32 {
	var slot int32
	if n := len(x.free); n > 0 {
		slot, x.free = x.free[n-1], x.free[:n-1]
		clear(x.set(slot))
	} else {
		slot = x.top
		x.top++
		if int(slot>>blockBits) == len(x.pages) {
			x.pages, x.sets = append(x.pages, new([blockSize]indexed)), append(x.sets, make([]uint64, x.words*blockSize))
		}
	}
	*x.page(slot) = indexed{hash: hash}
	x.slots[hash] = slot
	return slot
}

// remove records that a replica does not hold pages any more.
func (x *pageIndex) remove(replica int, pages []uint64) {
	for _, hash := range pages {
		if slot, ok := x.slots[hash]; ok {
			x.lose(replica, slot)
		}
	}
}

// lose removes a replica from a page's set; a page without replicas leaves the index.
func (x *pageIndex) lose(replica int, slot int32) {
	set := x.set(slot)
	word, bit := &set[replica/64], uint64(1)<<(replica%64)
	if *word&bit == 0 {
		return
	}
	*word &^= bit
	x.held[replica]--
	if !slices.ContainsFunc(set, func(word uint64) bool { return word != 0 }) {
		x.drop(slot)
	}
}

// clear removes a replica from all pages.
func (x *pageIndex) clear(replica int) {
	for slot := x.page(ends).next; slot != ends; {
		next := x.page(slot).next
		x.lose(replica, slot)
		slot = next
	}
}

func (x *pageIndex) drop(slot int32) {
	for w, set := range x.set(slot) {
		for ; set != 0; set &= set - 1 {
			x.held[w*64+bits.TrailingZeros64(set)]--
		}
	}
	x.unlink(slot)
	delete(x.slots, x.page(slot).hash)
	x.free = append(x.free, slot)
}

// link makes a page the one used last.
func (x *pageIndex) link(slot int32) {
	p, end := x.page(slot), &x.pages[0][ends]
	p.prev, p.next = ends, end.next
	x.page(end.next).prev, end.next = slot, slot
}

func (x *pageIndex) unlink(slot int32) {
	p := x.page(slot)
	x.page(p.prev).next, x.page(p.next).prev = p.next, p.prev
}
