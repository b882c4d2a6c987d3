package messages

import "slices"

// PageRun is N consecutive pages, N >= 1: First, First+1, … First+N-1. A list of
// runs means their pages, one run after the other.
type PageRun struct{ First, N Page }

// runBlock is how many pages of a run are read or written at a time. Page by page,
// a request at page size 1 costs the prefix cache over three times a copy of its
// tokens and slots; in blocks it costs two (docs/decisions/0023).
const runBlock = 8

// FirstRun is the longest run that pages, not empty, begin with.
func FirstRun(pages []Page) PageRun {
	first, n := pages[0], 1
	if len(pages) == 1 || pages[1] != first+1 {
		return PageRun{first, 1}
	}
	at := first
	for n = 0; n+runBlock <= len(pages); n += runBlock {
		p := (*[runBlock]Page)(pages[n:])
		if (p[0]^at)|(p[1]^(at+1))|(p[2]^(at+2))|(p[3]^(at+3))|(p[4]^(at+4))|(p[5]^(at+5))|(p[6]^(at+6))|(p[7]^(at+7)) != 0 {
			break
		}
		at += runBlock
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
	out, page, n := into[at:], r.First, 0
	for ; n+runBlock <= len(out); n += runBlock {
		p := (*[runBlock]Page)(out[n:])
		p[0], p[1], p[2], p[3] = page, page+1, page+2, page+3
		p[4], p[5], p[6], p[7] = page+4, page+5, page+6, page+7
		page += runBlock
	}
	for ; n < len(out); n++ {
		out[n] = r.First + Page(n)
	}
	return into
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
