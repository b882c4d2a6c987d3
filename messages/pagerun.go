package messages

import "slices"

// PageRun is N consecutive pages, N >= 1: First, First+1, … First+N-1. A list of
// runs means their pages, one run after the other.
type PageRun struct{ First, N Page }

// Runs are read and written sixteen pages at a time, two in each word of 64 bits. Page by
// page, a request at page size 1 costs the prefix cache over three times a copy of its
// tokens and slots; so it costs less than two (docs/decisions/0023).
const (
	runBlock = 16
	two      = 2 | 2<<32 // from a pair of pages to the next pair
	four     = 2 * two
)

// pair is two pages in one word. The compiler loads both at once.
func pair(a, b Page) uint64 { return uint64(uint32(a)) | uint64(uint32(b))<<32 }

// setPairs stores the pages of two pairs, each pair at once.
func setPairs(p *[4]Page, v, w uint64) {
	p[0], p[1] = Page(v), Page(v>>32)
	p[2], p[3] = Page(w), Page(w>>32)
}

// differ is 0 if p is the pages of two pairs.
func differ(p *[4]Page, v, w uint64) uint64 { return (pair(p[0], p[1]) ^ v) | (pair(p[2], p[3]) ^ w) }

// FirstRun is the longest run that pages, not empty, begin with.
func FirstRun(pages []Page) PageRun {
	first, n := pages[0], 0
	if len(pages) == 1 || pages[1] != first+1 {
		return PageRun{first, 1}
	}
	v := pair(first, first+1)
	for w := v + two; n+runBlock <= len(pages); n, v, w = n+runBlock, v+4*four, w+4*four {
		p := (*[runBlock]Page)(pages[n:])
		if differ((*[4]Page)(p[0:]), v, w)|differ((*[4]Page)(p[4:]), v+four, w+four)|
			differ((*[4]Page)(p[8:]), v+2*four, w+2*four)|differ((*[4]Page)(p[12:]), v+3*four, w+3*four) != 0 {
			break
		}
	}
	for n < len(pages) && pages[n] == first+Page(n) {
		n++
	}
	return PageRun{first, Page(n)}
}

// AppendTo appends the pages of a run.
func (r PageRun) AppendTo(into []Page) []Page {
	if r.N == 1 {
		return append(into, r.First)
	}
	at := len(into)
	into = slices.Grow(into, int(r.N))[:at+int(r.N)]
	enumerate(into[at:], r.First)
	return into
}

// enumerate writes consecutive pages, the first of which is first. It is apart from
// AppendTo because the compiler then keeps the words in registers.
func enumerate(out []Page, first Page) {
	n, v := 0, pair(first, first+1)
	for w := v + two; n+runBlock <= len(out); n += runBlock {
		p := (*[runBlock]Page)(out[n:])
		setPairs((*[4]Page)(p[0:]), v, w)
		setPairs((*[4]Page)(p[4:]), v+four, w+four)
		setPairs((*[4]Page)(p[8:]), v+2*four, w+2*four)
		setPairs((*[4]Page)(p[12:]), v+3*four, w+3*four)
		v, w = v+4*four, w+4*four
	}
	for ; n < len(out); n++ {
		out[n] = first + Page(n)
	}
}

// AppendRun appends a run. Where it continues the last one it lengthens that,
// which leaves the pages and their order as they are.
func (r PageRun) AppendRun(into []PageRun) []PageRun {
	if len(into) > 0 {
		if last := &into[len(into)-1]; last.First+last.N == r.First {
			last.N += r.N
			return into
		}
	}
	return append(into, r)
}
