package radix

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Cells write pages down in little room: a page that stands alone is one cell,
// itself, and a run of n >= 2 consecutive ones is two, -n and its first page, no
// number of a page being negative. There are never more cells than pages, and
// they can be read from both ends.

// appendCells appends the cells of pages.
func appendCells(cells, pages []messages.Page) []messages.Page {
	if invariants.Enabled && len(pages) > 0 && slices.Min(pages) < 0 {
		invariants.Fail("page %d is cached", slices.Min(pages))
	}
	for len(pages) > 0 {
		n := scattered(pages)
		cells, pages = append(cells, pages[:n]...), pages[n:]
		if len(pages) > 0 {
			run := messages.FirstRun(pages)
			cells, pages = appendRunCells(cells, run), pages[run.N:]
		}
	}
	return cells
}

// scattered is how many of pages, not empty, stand alone before a run begins.
func scattered(pages []messages.Page) int {
	for i, next := range pages[1:] {
		if next == pages[i]+1 {
			return i
		}
	}
	return len(pages)
}

// appendRunCells appends the cells of a run: none if it is empty.
func appendRunCells(cells []messages.Page, run messages.PageRun) []messages.Page {
	switch run.N {
	case 0:
		return cells
	case 1:
		return append(cells, run.First)
	default:
		return append(cells, -run.N, run.First)
	}
}

// firstRun is the run that cells, not empty, begin with, and what follows it.
func firstRun(cells []messages.Page) (messages.PageRun, []messages.Page) {
	if cells[0] >= 0 {
		return messages.PageRun{First: cells[0], N: 1}, cells[1:]
	}
	return messages.PageRun{First: cells[1], N: -cells[0]}, cells[2:]
}

// lastRun is the run that cells, not empty, end with, and what precedes it.
func lastRun(cells []messages.Page) (messages.PageRun, []messages.Page) {
	last := len(cells) - 1
	if last > 0 && cells[last-1] < 0 {
		return messages.PageRun{First: cells[last], N: -cells[last-1]}, cells[:last-1]
	}
	return messages.PageRun{First: cells[last], N: 1}, cells[:last]
}

// alone is how many cells from the first on are pages that stand alone.
func alone(cells []messages.Page) int {
	n := 0
	for n < len(cells) && cells[n] >= 0 {
		n++
	}
	return n
}

// expand writes the pages of cells, exactly len(out).
func expand(out, cells []messages.Page) {
	for len(cells) > 0 {
		if run := int(-cells[0]); run > 0 {
			messages.Enumerate(out[:run], cells[1])
			out, cells = out[run:], cells[2:]
			continue
		}
		n := alone(cells)
		copy(out, cells[:n])
		out, cells = out[n:], cells[n:]
	}
}

// appendRuns appends the runs of cells, of which the first may continue the last
// one of into.
func appendRuns(into []messages.PageRun, cells []messages.Page) []messages.PageRun {
	for len(cells) > 0 {
		var run messages.PageRun
		run, cells = firstRun(cells)
		into = run.AppendRun(into)
	}
	return into
}

// longer appends n elements that the caller writes.
func longer(into []messages.Page, n int) (all, added []messages.Page) {
	all = slices.Grow(into, n)[:len(into)+n]
	return all, all[len(into):]
}

// exactly copies a slice to memory of the right size: its capacity, unlike that
// of slices.Clone, tells nothing of the memory allocator's rounding.
func exactly[T any](s []T) []T {
	c := make([]T, len(s))
	copy(c, s)
	return c
}
