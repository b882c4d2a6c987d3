package radix

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// pageList is a node's pages in the order of their tokens, run-length encoded: a
// single page is one element, itself, and a run of n >= 2 consecutive pages is two, -n
// and its first page. So it never takes more than the pages one by one, and can be
// read from both ends. docs/decisions/0023 has what that saves.
//
// No run continues the one before it. The zero value is an empty list. The
// memory is the list's own. k is at most its length.
type pageList struct {
	code []messages.Page
	n    int32 // pages
	cut  int32 // pages taken off the front since fit; they had at most as many elements
}

// newPageList is a list of pages in memory of the right size.
func newPageList(pages []messages.Page) pageList {
	var few [64]messages.Page // long runs need no more
	return pageList{code: fitted(encode(few[:0], pages)), n: int32(len(pages))}
}

// encode appends pages to code, which they do not continue.
func encode(code, pages []messages.Page) []messages.Page {
	for len(pages) > 0 {
		if invariants.Enabled && pages[0] < 0 {
			invariants.Fail("page %d is cached", pages[0])
		}
		if len(pages) == 1 || pages[1] != pages[0]+1 {
			code, pages = append(code, pages[0]), pages[1:]
			continue
		}
		run := messages.FirstRun(pages)
		code, pages = append(code, -run.N, run.First), pages[run.N:]
	}
	return code
}

// encodeRun appends a run, which may be empty.
func encodeRun(code []messages.Page, run messages.PageRun) []messages.Page {
	switch run.N {
	case 0:
		return code
	case 1:
		return append(code, run.First)
	default:
		return append(code, -run.N, run.First)
	}
}

// firstRun decodes the first run of code, not empty.
func firstRun(code []messages.Page) (run messages.PageRun, rest []messages.Page) {
	if code[0] >= 0 {
		return messages.PageRun{First: code[0], N: 1}, code[1:]
	}
	return messages.PageRun{First: code[1], N: -code[0]}, code[2:]
}

// lastRun decodes the last run of code, not empty.
func lastRun(code []messages.Page) (run messages.PageRun, before []messages.Page) {
	last := len(code) - 1
	if last > 0 && code[last-1] < 0 {
		return messages.PageRun{First: code[last], N: -code[last-1]}, code[:last-1]
	}
	return messages.PageRun{First: code[last], N: 1}, code[:last]
}

func (l *pageList) len() int { return int(l.n) }

// spare is how many elements of memory behind the list are unused.
func (l *pageList) spare() int { return cap(l.code) - len(l.code) }

// append appends pages, and leaves room for more.
func (l *pageList) append(pages []messages.Page) {
	l.n += int32(len(pages))
	if len(l.code) > 0 && len(pages) > 0 {
		if last, before := lastRun(l.code); last.First+last.N == pages[0] {
			more := messages.FirstRun(pages)
			last.N += more.N
			l.code, pages = encodeRun(before, last), pages[more.N:]
		}
	}
	l.code = encode(l.code, pages)
}

func (l *pageList) appendTo(into []messages.Page) []messages.Page {
	return l.appendFirst(l.len(), into)
}

// appendFirst appends the list's first k pages to into.
func (l *pageList) appendFirst(k int, into []messages.Page) []messages.Page {
	into = slices.Grow(into, k)
	for left, code := messages.Page(k), l.code; left > 0; {
		if code[0] >= 0 {
			into, code = append(into, code[0]), code[1:]
			left--
			continue
		}
		run := messages.PageRun{First: code[1], N: min(-code[0], left)}
		into, code = run.AppendTo(into), code[2:]
		left -= run.N
	}
	return into
}

// appendRuns decodes code, of which the first run may continue the last of into.
func appendRuns(into []messages.PageRun, code []messages.Page) []messages.PageRun {
	for len(code) > 0 {
		var run messages.PageRun
		run, code = firstRun(code)
		into = run.AppendRun(into)
	}
	return into
}

// prefix is how many elements encode the whole runs in the first k pages, and the
// part of the next run that lies in them, which may be empty.
func (l *pageList) prefix(k int) (size int, part messages.PageRun) {
	for left := messages.Page(k); left > 0; {
		run, rest := firstRun(l.code[size:])
		if run.N > left {
			return size, messages.PageRun{First: run.First, N: left}
		}
		left -= run.N
		size = len(l.code) - len(rest)
	}
	return size, messages.PageRun{}
}

// first is a list of the first k pages, in memory of its own and the right size.
func (l *pageList) first(k int) pageList {
	size, part := l.prefix(k)
	code := append(make([]messages.Page, 0, size+min(2, int(part.N))), l.code[:size]...)
	return pageList{code: encodeRun(code, part), n: int32(k)}
}

// cutFirst takes the first k pages, not all, off the list.
func (l *pageList) cutFirst(k int) {
	size, part := l.prefix(k)
	l.n, l.cut = l.n-int32(k), l.cut+int32(k)
	l.code = l.code[size:]
	if part.N == 0 {
		return
	}
	run, rest := firstRun(l.code)
	run.First, run.N = run.First+part.N, run.N-part.N
	l.code = l.code[len(l.code)-len(rest)-min(2, int(run.N)):]
	encodeRun(l.code[:0], run)
}

// moveLast moves the last k pages, not all, from the list to into, as runs.
func (l *pageList) moveLast(k int, into []messages.PageRun) []messages.PageRun {
	l.n -= int32(k)
	keep, left := l.code, messages.Page(k)
	var run messages.PageRun
	for left > 0 {
		run, keep = lastRun(keep)
		left -= run.N
	}
	moved := l.code[len(keep):]
	l.code = keep
	if stay := -left; stay > 0 { // part of a run stays
		into = messages.PageRun{First: run.First + stay, N: run.N - stay}.AppendRun(into)
		moved = moved[2:]
		l.code = encodeRun(keep, messages.PageRun{First: run.First, N: stay}) // over the run's own
	}
	return appendRuns(into, moved)
}

// shares reports whether one of pages, at most as many as the list has, is in
// the list at the same index, and which. It compares where a run of either
// begins: two runs that are equal at one index are equal wherever both are.
func (l *pageList) shares(pages []messages.Page) (messages.Page, bool) {
	code := l.code
	for len(pages) > 0 {
		var run messages.PageRun
		run, code = firstRun(code)
		for run.N > 0 && len(pages) > 0 {
			theirs := messages.FirstRun(pages[:min(len(pages), int(run.N))])
			if theirs.First == run.First {
				return run.First, true
			}
			run.First, run.N = run.First+theirs.N, run.N-theirs.N
			pages = pages[theirs.N:]
		}
	}
	return 0, false
}

// fit moves the list to memory of the right size.
func (l *pageList) fit() { l.code, l.cut = fitted(l.code), 0 }

// fitted copies a slice to memory of the right size. Its capacity, unlike that of
// slices.Clone, does not depend on the rounding of the memory allocator.
func fitted[T any](s []T) []T {
	c := make([]T, len(s))
	copy(c, s)
	return c
}
