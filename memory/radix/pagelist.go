package radix

import "github.com/troupe-engine/troupe/messages"

// pageList is a node's pages in the order of their tokens, kept as cells. So it
// takes next to nothing where the pool has long runs, and never more than the
// pages one by one.
//
// No run continues the one before it. The zero value is an empty list. The
// cells are the list's own: a list has one owner. k is at most its length.
type pageList struct {
	cells []messages.Page
	n     int32 // pages
	cut   int32 // pages taken off the front since fit; they had at most as many cells
}

// newPageList is a list of pages without room. scratch is overwritten and given
// back, so that pages are looked at once and need no memory but the list's.
func newPageList(pages, scratch []messages.Page) (pageList, []messages.Page) {
	scratch = appendCells(scratch[:0], pages)
	return pageList{cells: exactly(scratch), n: int32(len(pages))}, scratch
}

// len is the number of pages.
func (l *pageList) len() int { return int(l.n) }

// room is how many cells behind the list are unused.
func (l *pageList) room() int { return cap(l.cells) - len(l.cells) }

// append appends pages, with room for more.
func (l *pageList) append(pages []messages.Page) {
	l.n += int32(len(pages))
	if len(l.cells) > 0 && len(pages) > 0 {
		if last, before := lastRun(l.cells); last.First+last.N == pages[0] {
			more := messages.FirstRun(pages)
			last.N += more.N
			l.cells, pages = appendRunCells(before, last), pages[more.N:]
		}
	}
	l.cells = appendCells(l.cells, pages)
}

// appendTo appends the list's pages to into.
func (l *pageList) appendTo(into []messages.Page) []messages.Page {
	into, added := longer(into, int(l.n))
	expand(added, l.cells)
	return into
}

// appendRunsTo appends the list's pages to into, as runs.
func (l *pageList) appendRunsTo(into []messages.PageRun) []messages.PageRun {
	return appendRuns(into, l.cells)
}

// prefix is how many whole runs of the list lie in its first k pages, in cells,
// and the part of the next run that does, which may be empty.
func (l *pageList) prefix(k int) (cells int, part messages.PageRun) {
	for left := messages.Page(k); left > 0; {
		run, rest := firstRun(l.cells[cells:])
		if run.N > left {
			return cells, messages.PageRun{First: run.First, N: left}
		}
		left -= run.N
		cells = len(l.cells) - len(rest)
	}
	return cells, messages.PageRun{}
}

// appendFirst appends the list's first k pages to into.
func (l *pageList) appendFirst(k int, into []messages.Page) []messages.Page {
	cells, part := l.prefix(k)
	into, added := longer(into, k)
	whole := k - int(part.N)
	expand(added[:whole], l.cells[:cells])
	messages.Enumerate(added[whole:], part.First)
	return into
}

// first is a list of the first k pages, in memory of its own and without room.
func (l *pageList) first(k int) pageList {
	cells, part := l.prefix(k)
	own := make([]messages.Page, cells, cells+min(2, int(part.N)))
	copy(own, l.cells)
	return pageList{cells: appendRunCells(own, part), n: int32(k)}
}

// cutFirst takes the first k pages, not all, off the list.
func (l *pageList) cutFirst(k int) {
	cells, part := l.prefix(k)
	l.n, l.cut = l.n-int32(k), l.cut+int32(k)
	l.cells = l.cells[cells:]
	if part.N == 0 {
		return
	}
	run, rest := firstRun(l.cells)
	run.First, run.N = run.First+part.N, run.N-part.N
	l.cells = l.cells[len(l.cells)-len(rest)-min(2, int(run.N)):]
	appendRunCells(l.cells[:0], run)
}

// moveLast takes the last k pages, not all, off the list and appends them to
// into, as runs.
func (l *pageList) moveLast(k int, into []messages.PageRun) []messages.PageRun {
	l.n -= int32(k)
	before, left := l.cells, messages.Page(k)
	var run messages.PageRun
	for left > 0 {
		run, before = lastRun(before)
		left -= run.N
	}
	rest := l.cells[len(before):]
	l.cells = before
	if stay := -left; stay > 0 { // of a run that goes in part
		into = messages.PageRun{First: run.First + stay, N: run.N - stay}.AppendRun(into)
		rest = rest[2:]
		l.cells = appendRunCells(before, messages.PageRun{First: run.First, N: stay}) // over the run's own
	}
	return appendRuns(into, rest)
}

// shares reports whether one of pages, at most as many as the list has, is in
// the list at the same index, and which. It compares where a run of either
// begins: two runs that are equal at one index are equal wherever both are.
func (l *pageList) shares(pages []messages.Page) (messages.Page, bool) {
	cells := l.cells
	for len(pages) > 0 {
		var run messages.PageRun
		run, cells = firstRun(cells)
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

// fit moves the cells to memory of the right size.
func (l *pageList) fit() { l.cells, l.cut = exactly(l.cells), 0 }
