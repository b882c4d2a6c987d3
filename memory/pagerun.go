package memory

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// pageRun is n consecutive pages. It is what a messages.PageRun is, with what
// this package does to one.
type pageRun struct{ first, n messages.Page }

// Runs are written and read sixteen pages at a time, two in each word of 64
// bits: the compiler makes one store or load of the two halves.
const (
	runBlock = 16
	nextTwo  = 2 | 2<<32 // from a pair of pages to the next
	nextFour = 2 * nextTwo
)

type (
	fourPages = [4]messages.Page
	pageBlock = [runBlock]messages.Page
)

// pair is two consecutive pages in one word.
func pair(page messages.Page) uint64 { return uint64(uint32(page)) | uint64(uint32(page+1))<<32 }

func halves(v uint64) (messages.Page, messages.Page) {
	return messages.Page(uint32(v)), messages.Page(uint32(v >> 32))
}

func whole(a, b messages.Page) uint64 { return uint64(uint32(a)) | uint64(uint32(b))<<32 }

// differ is 0 when p is two pairs, v and w.
func differ(p *fourPages, v, w uint64) uint64 {
	return (whole(p[0], p[1]) ^ v) | (whole(p[2], p[3]) ^ w)
}

// write makes p two pairs, v and w.
func write(p *fourPages, v, w uint64) {
	p[0], p[1] = halves(v)
	p[2], p[3] = halves(w)
}

// runOf is the longest run that pages, not empty, begin with.
func runOf(pages []messages.Page) pageRun {
	if len(pages) == 1 || pages[1] != pages[0]+1 {
		return pageRun{pages[0], 1}
	}
	n, v := 0, pair(pages[0])
	for w := v + nextTwo; n+runBlock <= len(pages); n += runBlock {
		p := (*pageBlock)(pages[n:])
		if differ((*fourPages)(p[0:]), v, w)|differ((*fourPages)(p[4:]), v+nextFour, w+nextFour)|
			differ((*fourPages)(p[8:]), v+2*nextFour, w+2*nextFour)|differ((*fourPages)(p[12:]), v+3*nextFour, w+3*nextFour) != 0 {
			break
		}
		v, w = v+4*nextFour, w+4*nextFour
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
	enumerate(into[at:], run.first)
	return into
}

// appendRun appends a run, not empty: it lengthens the last one where it
// continues it, which leaves the pages and their order as they are.
func (run pageRun) appendRun(into []messages.PageRun) []messages.PageRun {
	if len(into) > 0 {
		if last := &into[len(into)-1]; last.First+last.N == run.first {
			last.N += run.n
			return into
		}
	}
	return append(into, messages.PageRun{First: run.first, N: run.n})
}

// enumerate writes consecutive pages, the first of which is page.
func enumerate(out []messages.Page, page messages.Page) {
	n, v := 0, pair(page)
	for w := v + nextTwo; n+runBlock <= len(out); n += runBlock {
		p := (*pageBlock)(out[n:])
		write((*fourPages)(p[0:]), v, w)
		write((*fourPages)(p[4:]), v+nextFour, w+nextFour)
		write((*fourPages)(p[8:]), v+2*nextFour, w+2*nextFour)
		write((*fourPages)(p[12:]), v+3*nextFour, w+3*nextFour)
		v, w = v+4*nextFour, w+4*nextFour
	}
	for ; n < len(out); n++ {
		out[n] = page + messages.Page(n)
	}
}
