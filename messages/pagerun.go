package messages

import "slices"

// PageRun is N consecutive pages, N >= 1: First, First+1, … First+N-1. A list of
// runs means their pages, one run after the other.
type PageRun struct{ First, N Page }

// Runs are written and read sixteen pages at a time, two in each word of 64
// bits: the compiler makes one store or load of the two halves. With plain loops
// a request costs the prefix cache 1.8 times as much at page size 1: 3.4 times
// a copy of its tokens and slots in place of 1.9.
const (
	runBlock = 16
	nextTwo  = 2 | 2<<32 // from a pair of pages to the next
	nextFour = 2 * nextTwo
)

type (
	fourPages = [4]Page
	pageBlock = [runBlock]Page
)

// pair is two consecutive pages in one word.
func pair(page Page) uint64 { return uint64(uint32(page)) | uint64(uint32(page+1))<<32 }

func halves(v uint64) (Page, Page) {
	return Page(uint32(v)), Page(uint32(v >> 32))
}

func whole(a, b Page) uint64 { return uint64(uint32(a)) | uint64(uint32(b))<<32 }

// differ is 0 when p is two pairs, v and w.
func differ(p *fourPages, v, w uint64) uint64 {
	return (whole(p[0], p[1]) ^ v) | (whole(p[2], p[3]) ^ w)
}

// write makes p two pairs, v and w.
func write(p *fourPages, v, w uint64) {
	p[0], p[1] = halves(v)
	p[2], p[3] = halves(w)
}

// FirstRun is the longest run that pages, not empty, begin with.
func FirstRun(pages []Page) PageRun {
	if len(pages) == 1 || pages[1] != pages[0]+1 {
		return PageRun{pages[0], 1}
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
	for n < len(pages) && pages[n] == pages[0]+Page(n) {
		n++
	}
	return PageRun{pages[0], Page(n)}
}

// AppendTo appends the pages of a run.
func (r PageRun) AppendTo(into []Page) []Page {
	if r.N == 1 {
		return append(into, r.First)
	}
	at := len(into)
	into = slices.Grow(into, int(r.N))[:at+int(r.N)]
	fill(into[at:], r.First)
	return into
}

// AppendRun appends a run, not empty: it lengthens the last one where it
// continues it, which leaves the pages and their order as they are.
func (r PageRun) AppendRun(into []PageRun) []PageRun {
	if len(into) > 0 {
		if last := &into[len(into)-1]; last.First+last.N == r.First {
			last.N += r.N
			return into
		}
	}
	return append(into, r)
}

// fill writes consecutive pages, the first of which is page.
func fill(out []Page, page Page) {
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
		out[n] = page + Page(n)
	}
}
