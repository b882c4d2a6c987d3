package pages

import (
	"math/bits"

	"github.com/troupe-engine/troupe/messages"
)

// set is a bitmap by page number.
type set []uint64

func (s set) has(page messages.Page) bool { return s[page/64]&(1<<(page%64)) != 0 }

// add adds a run.
func (s set) add(run messages.PageRun) {
	if run.N == 1 {
		s[run.First/64] |= 1 << (run.First % 64)
		return
	}
	first, last, head, tail := words(run)
	for word := first; word <= last; word++ {
		s[word] |= maskOf(word, first, last, head, tail)
	}
}

// remove removes a run, and returns the first page of it that was not in the set,
// 0 if all were.
func (s set) remove(run messages.PageRun) messages.Page {
	if run.N == 1 {
		if !s.has(run.First) {
			return run.First
		}
		s[run.First/64] &^= 1 << (run.First % 64)
		return 0
	}
	first, last, head, tail := words(run)
	for word := first; word <= last; word++ {
		mask := maskOf(word, first, last, head, tail)
		if missing := mask &^ s[word]; missing != 0 {
			return messages.Page(word*64 + bits.TrailingZeros64(missing))
		}
		s[word] &^= mask
	}
	return 0
}

// words returns the first and the last word with bits of a run, and which bits of
// them are the run's. Of the words between all bits are.
func words(run messages.PageRun) (first, last int, head, tail uint64) {
	begin, end := uint(run.First), uint(run.First+run.N-1)
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
