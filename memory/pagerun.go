package memory

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// pageRun is n consecutive pages.
type pageRun struct{ first, n messages.Page }

// Runs are written and read eight pages at a time, two in each word of 64 bits:
// the compiler makes one store or load of the two halves.
const (
	runBlock = 8
	nextTwo  = 2 | 2<<32 // from a pair of pages to the next
)

// pair is two consecutive pages in one word.
func pair(page messages.Page) uint64 { return uint64(uint32(page)) | uint64(uint32(page+1))<<32 }

func halves(v uint64) (messages.Page, messages.Page) {
	return messages.Page(uint32(v)), messages.Page(uint32(v >> 32))
}

func whole(a, b messages.Page) uint64 { return uint64(uint32(a)) | uint64(uint32(b))<<32 }

// runOf is the longest run that pages, not empty, begin with.
func runOf(pages []messages.Page) pageRun {
	if len(pages) == 1 || pages[1] != pages[0]+1 {
		return pageRun{pages[0], 1}
	}
	n, v := 0, pair(pages[0])
	for ; n+runBlock <= len(pages); n += runBlock {
		p := (*[runBlock]messages.Page)(pages[n:])
		a, b, c, d := whole(p[0], p[1]), whole(p[2], p[3]), whole(p[4], p[5]), whole(p[6], p[7])
		if (a^v)|(b^(v+nextTwo))|(c^(v+2*nextTwo))|(d^(v+3*nextTwo)) != 0 {
			break
		}
		v += 4 * nextTwo
	}
	for n < len(pages) && pages[n] == pages[0]+messages.Page(n) {
		n++
	}
	return pageRun{pages[0], messages.Page(n)}
}

// appendTo appends the pages of a run.
func (run pageRun) appendTo(into []messages.Page) []messages.Page {
	if run.n == 1 {
		return append(into, run.first)
	}
	at := len(into)
	into = slices.Grow(into, int(run.n))[:at+int(run.n)]
	out, page := into[at:], run.first
	for v := pair(page); len(out) >= runBlock; out = out[runBlock:] {
		p := (*[runBlock]messages.Page)(out)
		p[0], p[1] = halves(v)
		p[2], p[3] = halves(v + nextTwo)
		p[4], p[5] = halves(v + 2*nextTwo)
		p[6], p[7] = halves(v + 3*nextTwo)
		v += 4 * nextTwo
		page += runBlock
	}
	for i := range out {
		out[i] = page + messages.Page(i)
	}
	return into
}
