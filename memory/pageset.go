package memory

import (
	"math/bits"

	"github.com/troupe-engine/troupe/messages"
)

// pageSet is a bitmap by page number.
type pageSet []uint64

func (s pageSet) has(page messages.Page) bool { return s[page/64]&(1<<(page%64)) != 0 }

// add adds a run.
func (s pageSet) add(run pageRun) {
	if run.n == 1 {
		s[run.first/64] |= 1 << (run.first % 64)
		return
	}
	for page, n := run.first, int(run.n); n > 0; {
		word, mask, k := wordOf(page, n)
		s[word] |= mask
		page, n = page+messages.Page(k), n-k
	}
}

// remove takes a run out, and returns the first page of it that was not in the
// set, 0 when all were.
func (s pageSet) remove(run pageRun) messages.Page {
	if run.n == 1 {
		if !s.has(run.first) {
			return run.first
		}
		s[run.first/64] &^= 1 << (run.first % 64)
		return 0
	}
	for page, n := run.first, int(run.n); n > 0; {
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
