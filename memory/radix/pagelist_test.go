package radix

import (
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/invariantstest"
	"pgregory.net/rapid"
)

// drawPages makes pages in runs of all lengths, most of them short.
func drawPages(t *rapid.T, most int) []messages.Page {
	var pages []messages.Page
	for len(pages) < most {
		first := messages.Page(rapid.IntRange(1, 1<<20).Draw(t, "first"))
		n := rapid.SampledFrom([]int{1, 1, 1, 2, 3, 7, 8, 9, 40}).Draw(t, "run")
		for i := range min(n, most-len(pages)) {
			pages = append(pages, first+messages.Page(i))
		}
	}
	return pages
}

// longestRuns is pages as the fewest runs.
func longestRuns(pages []messages.Page) []messages.PageRun {
	var runs []messages.PageRun
	for i, page := range pages {
		if i > 0 && page == pages[i-1]+1 {
			runs[len(runs)-1].N++
		} else {
			runs = append(runs, messages.PageRun{First: page, N: 1})
		}
	}
	return runs
}

// pagesOf is the pages of runs, one by one. It needs runs that are not empty.
func pagesOf(runs []messages.PageRun) []messages.Page {
	var pages []messages.Page
	for _, run := range runs {
		if run.N < 1 {
			panic(fmt.Sprintf("an empty run in %v", runs))
		}
		for i := range run.N {
			pages = append(pages, run.First+i)
		}
	}
	return pages
}

// check compares a list with a flat one, and looks at its form.
func (l *pageList) check(t *rapid.T, want []messages.Page) {
	if got := l.appendTo(nil); l.len() != len(want) || !slices.Equal(got, want) {
		t.Fatalf("%d pages %v in elements %v, want %v", l.len(), got, l.code, want)
	}
	var least []messages.Page // the elements that the pages need
	for from := 0; from < len(want); {
		n := 1
		for from+n < len(want) && want[from+n] == want[from]+messages.Page(n) {
			n++
		}
		if n > 1 {
			least = append(least, messages.Page(-n))
		}
		least = append(least, want[from])
		from += n
	}
	if !slices.Equal(l.code, least) || len(least) > len(want) {
		t.Fatalf("elements %v of pages %v, want %v", l.code, want, least)
	}
}

// TestPageListLikeSlice does to a list and to a plain slice the same.
func TestPageListLikeSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flat := drawPages(t, rapid.IntRange(1, 100).Draw(t, "pages"))
		list := newPageList(flat)
		list.check(t, flat)
		if list.spare() != 0 || list.cut != 0 {
			t.Fatalf("a new list has room for %d and lost %d", list.spare(), list.cut)
		}
		capacity := len(flat) // pages that a flat list of the same history has memory for
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			k := rapid.IntRange(0, max(0, len(flat)-1)).Draw(t, "k")
			switch op := rapid.IntRange(0, 7).Draw(t, "op"); op {
			case 0:
				more := drawPages(t, rapid.IntRange(0, 30).Draw(t, "more"))
				if len(more) > 0 && rapid.Bool().Draw(t, "consecutive") {
					more = slices.Insert(more, 0, flat[len(flat)-1]+1, flat[len(flat)-1]+2)
				}
				list.append(more)
				flat = append(flat, more...)
				list.fit()
				capacity = len(flat)
			case 1:
				list.cutFirst(k)
				flat = flat[k:]
			case 2:
				before := drawPages(t, rapid.IntRange(0, 3).Draw(t, "before"))
				if k > 0 && rapid.Bool().Draw(t, "continued") {
					before = append(before, flat[len(flat)-k]-1)
				}
				into := list.moveLast(k, longestRuns(before))
				if want := append(before, flat[len(flat)-k:]...); !slices.Equal(into, longestRuns(want)) {
					t.Fatalf("moved %v, want %v", into, want)
				}
				flat = flat[:len(flat)-k]
			case 3:
				if got := list.appendFirst(k, []messages.Page{7}); !slices.Equal(got[1:], flat[:k]) {
					t.Fatalf("the first %d are %v, want %v", k, got, flat[:k])
				}
			case 4:
				upper := list.first(k)
				upper.check(t, flat[:k])
				if upper.spare() != 0 {
					t.Fatalf("the copy of %d pages has room for %d", k, upper.spare())
				}
				clear(upper.code[:cap(upper.code)]) // the list must not see it
			case 5:
				theirs := drawPages(t, k)
				if at := rapid.IntRange(-1, k-1).Draw(t, "shared"); at >= 0 {
					theirs[at] = flat[at]
				}
				_, got := list.shares(theirs)
				want := false
				for i := range theirs {
					want = want || theirs[i] == flat[i]
				}
				if got != want {
					t.Fatalf("%v shares a page with %v: %t, want %t", theirs, flat, got, want)
				}
			case 6:
				before := drawPages(t, rapid.IntRange(0, 3).Draw(t, "before"))
				if got, want := appendRuns(longestRuns(before), list.code), longestRuns(append(before, flat...)); !slices.Equal(got, want) {
					t.Fatalf("runs %v, want %v", got, want)
				}
			case 7:
				list.fit()
				capacity = len(flat)
				if list.spare() != 0 || list.cut != 0 {
					t.Fatalf("a fitted list has room for %d and lost %d", list.spare(), list.cut)
				}
			}
			list.check(t, flat)
			if cap(list.code) > capacity {
				t.Fatalf("%d elements of memory, a flat list has %d", cap(list.code), capacity)
			}
		}
	})
}

// TestPageListBytes: a pool in long runs takes next to nothing, one in which no
// page follows another what a flat list takes.
func TestPageListBytes(t *testing.T) {
	for _, c := range []struct{ stride, elements int }{{1, 2}, {2, 1000}} {
		pages := make([]messages.Page, 1000)
		for i := range pages {
			pages[i] = messages.Page(1 + i*c.stride)
		}
		if list := newPageList(pages); cap(list.code) != c.elements {
			t.Errorf("stride %d: %d elements, want %d", c.stride, cap(list.code), c.elements)
		}
	}
	if invariants.Enabled {
		invariantstest.MustFail(t, "page -5 is cached", func() { newPageList([]messages.Page{3, -5}) })
	}
}

// BenchmarkPageList makes a list of 8192 pages and reads it, in runs of a length.
func BenchmarkPageList(b *testing.B) {
	for _, length := range []int{1, 2, 16, 8192} {
		b.Run(fmt.Sprintf("run=%d", length), func(b *testing.B) {
			pages := make([]messages.Page, 8192)
			for i := range pages {
				pages[i] = messages.Page(1 + i/length*(length+1) + i%length)
			}
			into := make([]messages.Page, 0, len(pages))
			for b.Loop() {
				list := newPageList(pages)
				into = list.appendTo(into[:0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(pages)), "ns/page")
		})
	}
}
