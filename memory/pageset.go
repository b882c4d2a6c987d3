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
	first, last, head, tail := run.words()
	for word := first; word <= last; word++ {
		s[word] |= maskOf(word, first, last, head, tail)
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
	first, last, head, tail := run.words()
	for word := first; word <= last; word++ {
		mask := maskOf(word, first, last, head, tail)
		if missing := mask &^ s[word]; missing != 0 {
			return messages.Page(word*64 + bits.TrailingZeros64(missing))
		}
		s[word] &^= mask
	}
	return 0
}

// words are the first and the last word that have bits of a run, not empty, and
// which bits of them: all bits of the words between are the run's.
func (run pageRun) words() (first, last int, head, tail uint64) {
	begin, end := uint(run.first), uint(run.first+run.n-1)
	return int(begin / 64), int(end / 64), ^uint64(0) << (begin % 64), ^uint64(0) >> (63 - end%64)
}

// maskOf is the bits of a run in one of its words.
func maskOf(word, first, last int, head, tail uint64) uint64 {
	mask := ^uint64(0)
	if word == first {
		mask = head
	}
	if word == last {
		mask &= tail
	}
	return mask
}
