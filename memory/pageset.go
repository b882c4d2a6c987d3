package memory

import (
	"math/bits"

	"github.com/troupe-engine/troupe/messages"
)

// pageSet is a bitmap by page number.
type pageSet []uint64

func (s pageSet) has(page messages.Page) bool { return s[page/64]&(1<<(page%64)) != 0 }

// run is the length of the longest run of consecutive numbers that pages, not
// empty, begin with.
func run(pages []messages.Page) int {
	n := 1
	for n < len(pages) && pages[n] == pages[0]+messages.Page(n) {
		n++
	}
	return n
}

// add adds pages that are not in the set.
func (s pageSet) add(pages []messages.Page) {
	for len(pages) > 0 {
		n := run(pages)
		s.addRun(pages[0], n)
		pages = pages[n:]
	}
}

// remove takes pages out. It stops at the first one that was not in the set
// and returns it; 0 when all were.
func (s pageSet) remove(pages []messages.Page) messages.Page {
	for len(pages) > 0 {
		n := run(pages)
		if missing := s.removeRun(pages[0], n); missing != 0 {
			return missing
		}
		pages = pages[n:]
	}
	return 0
}

// addRun adds n consecutive pages.
func (s pageSet) addRun(page messages.Page, n int) {
	for n > 0 {
		word, mask, k := wordOf(page, n)
		s[word] |= mask
		page, n = page+messages.Page(k), n-k
	}
}

// removeRun takes n consecutive pages out, and returns the first one that was
// not in the set, 0 when all were.
func (s pageSet) removeRun(page messages.Page, n int) messages.Page {
	for n > 0 {
		word, mask, k := wordOf(page, n)
		if missing := mask &^ s[word]; missing != 0 {
			return messages.Page(word*64 + bits.TrailingZeros64(missing))
		}
		s[word] &^= mask
		page, n = page+messages.Page(k), n-k
	}
	return 0
}

// wordOf gives the bits of the first k of n consecutive pages, those that lie
// in one word.
func wordOf(page messages.Page, n int) (word int, mask uint64, k int) {
	bit := int(page) % 64
	k = min(n, 64-bit)
	return int(page) / 64, (^uint64(0) >> (64 - k)) << bit, k
}
