package memory

import (
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func TestAllocatorIsAllOrNothing(t *testing.T) {
	a := NewAllocator(16)
	four, ok := a.Alloc(4, nil)
	if !ok || !slices.Equal(four, []messages.Page{1, 2, 3, 4}) || a.Free() != 12 {
		t.Fatalf("got %v, %d free", four, a.Free())
	}
	if got, ok := a.Alloc(0, four); !ok || len(got) != 4 || a.Free() != 12 {
		t.Fatalf("allocating nothing gave %v, %d free", got, a.Free())
	}
	if got, ok := a.Alloc(13, nil); ok || len(got) > 0 || a.Free() != 12 {
		t.Fatalf("13 of 12 pages gave %v, %d free", got, a.Free())
	}
	a.Release(nil)
	a.Release([]messages.Page{2, 4})
	a.Release([]messages.Page{3})
	// First in, first out; the pages that were never out come first of all.
	got, ok := a.Alloc(14, nil)
	if !ok || !slices.Equal(got, []messages.Page{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 2, 4}) {
		t.Fatalf("after frees got %v", got)
	}
	a.Release(got)
	a.Release([]messages.Page{1})
	all, ok := a.Alloc(16, nil)
	slices.Sort(all)
	if !ok || all[0] != 1 || all[15] != 16 || len(slices.Compact(all)) != 16 || a.Free() != 0 {
		t.Fatalf("all pages are %v", all)
	}
	if empty := NewAllocator(0); empty.Free() != 0 || empty.Total() != 0 {
		t.Fatal("an empty pool has pages")
	}
}

func TestAllocatorViolations(t *testing.T) {
	a := NewAllocator(70)
	pages, _ := a.Alloc(66, nil)
	mustViolate(t, "pages 0 to 0 freed", func() { a.Release([]messages.Page{0}) })
	mustViolate(t, "pages 71 to 71 freed", func() { a.Release([]messages.Page{71}) })
	mustViolate(t, "pages -1 to -1 freed", func() { a.Release([]messages.Page{-1}) })
	mustViolate(t, "page 67 freed twice", func() { a.Release([]messages.Page{67}) })
	mustViolate(t, "pages 0 to 1 freed", func() { a.ReleaseRuns([]messages.PageRun{{First: 0, N: 2}}) })
	mustViolate(t, "pages 70 to 71 freed", func() { a.ReleaseRuns([]messages.PageRun{{First: 70, N: 2}}) })
	mustViolate(t, "pages 5 to 4 freed", func() { a.ReleaseRuns([]messages.PageRun{{First: 5}}) })
	mustViolate(t, "page 67 freed twice", func() { a.ReleaseRuns([]messages.PageRun{{First: 67, N: 2}}) })
	mustViolate(t, "allocating -1", func() { a.Alloc(-1, nil) })
	a.Release(pages[63:64])
	mustViolate(t, "page 64 freed twice", func() { a.Release(pages[63:64]) })
	mustViolate(t, "page 3 freed twice", func() { a.Release([]messages.Page{3, 3}) })
}

func TestRows(t *testing.T) {
	r := NewRows(3)
	take := func(want string) {
		t.Helper()
		row, ok := r.Take()
		if got := fmt.Sprint(row, ok); got != want {
			t.Fatalf("took %s, want %s", got, want)
		}
	}
	take("0 true")
	take("1 true")
	take("2 true")
	take("0 false")
	if r.Free() != 0 || r.Limit() != 3 {
		t.Fatalf("%d of %d free", r.Free(), r.Limit())
	}
	r.Give(0)
	r.Give(1)
	mustViolate(t, "row 1 given back twice", func() { r.Give(1) })
	mustViolate(t, "row 3 given back, of 3", func() { r.Give(3) })
	mustViolate(t, "row -1 given back, of 3", func() { r.Give(-1) })
	take("1 true")
	take("0 true")
	if r.Free() != 0 {
		t.Fatalf("%d free", r.Free())
	}
	mustViolate(t, "a table of 0 rows", func() { NewRows(0) })
}
