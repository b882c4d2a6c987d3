package pages

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/invariantstest"
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
	invariantstest.MustFail(t, "pages 0 to 0 freed", func() { a.Release([]messages.Page{0}) })
	invariantstest.MustFail(t, "pages 71 to 71 freed", func() { a.Release([]messages.Page{71}) })
	invariantstest.MustFail(t, "pages -1 to -1 freed", func() { a.Release([]messages.Page{-1}) })
	invariantstest.MustFail(t, "page 67 freed twice", func() { a.Release([]messages.Page{67}) })
	invariantstest.MustFail(t, "pages 0 to 1 freed", func() { a.ReleaseRuns([]messages.PageRun{{First: 0, N: 2}}) })
	invariantstest.MustFail(t, "pages 70 to 71 freed", func() { a.ReleaseRuns([]messages.PageRun{{First: 70, N: 2}}) })
	invariantstest.MustFail(t, "pages 5 to 4 freed", func() { a.ReleaseRuns([]messages.PageRun{{First: 5}}) })
	invariantstest.MustFail(t, "page 67 freed twice", func() { a.ReleaseRuns([]messages.PageRun{{First: 67, N: 2}}) })
	invariantstest.MustFail(t, "allocating -1", func() { a.Alloc(-1, nil) })
	a.Release(pages[63:64])
	invariantstest.MustFail(t, "page 64 freed twice", func() { a.Release(pages[63:64]) })
	invariantstest.MustFail(t, "page 3 freed twice", func() { a.Release([]messages.Page{3, 3}) })
}

// SGLang's behaviours 13 and 16: 64 tokens in pages of 4, of which 8 tokens are taken; 16 tokens, of which 20
// are refused; all of 8 pages, of which 9 are refused and none is taken.
func TestBehaviourAllocate(t *testing.T) {
	a := NewAllocator(64 / 4)
	pages, _ := a.Alloc(paging.Pages(8, 4), nil)
	if a.Free()*4 != 56 || int(pages[0])*4%4 != 0 {
		t.Errorf("%d tokens left, from slot %d on", a.Free()*4, pages[0]*4)
	}
	small := NewAllocator(16 / 4)
	if _, ok := small.Alloc(paging.Pages(20, 4), nil); ok || small.Free() != 4 {
		t.Errorf("20 of 16 tokens allocated, %d pages left", small.Free())
	}
	eight := NewAllocator(8)
	if got, ok := eight.Alloc(9, nil); ok || len(got) > 0 || eight.Free() != 8 {
		t.Errorf("9 of 8 pages: %v, %d left", got, eight.Free())
	}
	first, _ := eight.Alloc(4, nil)
	second, ok := eight.Alloc(4, nil)
	if !ok || eight.Free() != 0 {
		t.Fatalf("%v and %v, %d left", first, second, eight.Free())
	}
	seen := map[messages.Page]bool{0: true} // page 0 is never handed out
	for _, page := range append(first, second...) {
		if seen[page] {
			t.Errorf("page %d handed out twice", page)
		}
		seen[page] = true
	}
	eight.Release(nil)
	eight.Release(second)
	if again, ok := eight.Alloc(4, nil); !ok || len(again) != 4 {
		t.Errorf("freed pages are not allocated again: %v", again)
	}
}

// TestNoAllocations: what a decode step does to the allocator costs none.
func TestNoAllocations(t *testing.T) {
	alloc := NewAllocator(1000)
	pages, _ := alloc.Alloc(100, make([]messages.Page, 0, 100))
	alloc.Release(pages)
	if n := testing.AllocsPerRun(100, func() {
		pages, _ = alloc.Alloc(100, pages[:0])
		alloc.Release(pages)
	}); n != 0 {
		t.Errorf("Alloc and Release allocate %g times", n)
	}
	whole := NewAllocator(100) // all of it goes out each time
	runs := []messages.PageRun{{First: 41, N: 60}, {First: 1, N: 40}}
	if n := testing.AllocsPerRun(100, func() {
		pages, _ = whole.Alloc(100, pages[:0])
		whole.ReleaseRuns(runs)
	}); n != 0 {
		t.Errorf("Alloc and ReleaseRuns allocate %g times", n)
	}
}
