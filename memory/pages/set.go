package pages

import (
	"math/bits"

	"github.com/troupe-engine/troupe/messages"
)

// set is a bitmap by page number.
type set []uint64

func (s set) has(page messages.Page) bool { return s[page/64]&(1<<(page%64)) != 0 }

func (s set) add(run messages.PageRun) {
	if run.N == 1 {
		s[run.First/64] |= 1 << (run.First % 64)
		return
	}
	for at, end := uint(run.First), uint(run.First+run.N); at < end; at = at | 63 + 1 {
		s[at/64] |= mask(at, end)
	}
}

// remove removes a run and returns its first page that was not in the set, 0 if all were.
func (s set) remove(run messages.PageRun) messages.Page {
	if run.N == 1 && s.has(run.First) {
		s[run.First/64] &^= 1 << (run.First % 64)
		return 0
	}
	for at, end := uint(run.First), uint(run.First+run.N); at < end; at = at | 63 + 1 {
		word, gone := &s[at/64], mask(at, end)
		if missing := gone &^ *word; missing != 0 {
			return messages.Page(at&^63) + messages.Page(bits.TrailingZeros64(missing))
		}
		*word &^= gone
	}
	return 0
}

// mask is the bits of [at, end) in the word of at.
func mask(at, end uint) uint64 {
	all := ^uint64(0) << (at % 64)
	if next := at | 63 + 1; end < next {
		all &= ^uint64(0) >> (next - end)
	}
	return all
}
