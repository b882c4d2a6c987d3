package pages

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"pgregory.net/rapid"
)

// soak multiplies the length of random runs under TROUPE_SOAK=1.
func soak(ops int) int {
	if os.Getenv("TROUPE_SOAK") != "" {
		return 100 * ops
	}
	return ops
}

// failer is what testing.T and rapid.T have in common here.
type failer interface{ Fatalf(string, ...any) }

func sorted(pages []messages.Page) []messages.Page {
	pages = slices.Clone(pages)
	slices.Sort(pages)
	return pages
}

// runsOf is pages as runs.
func runsOf(pages []messages.Page) (runs []messages.PageRun) {
	for len(pages) > 0 {
		run := messages.FirstRun(pages)
		runs, pages = append(runs, run), pages[run.N:]
	}
	return runs
}

// allocatorTwin is the slow, obvious allocator: a plain list of free pages.
type allocatorTwin struct{ free []messages.Page }

// longest is the longest run of consecutive free pages and the lowest of n.
func (w *allocatorTwin) longest(n int) (start messages.Page, longest int) {
	free := sorted(w.free)
	for i := range free {
		length := int(messages.FirstRun(free[i:]).N)
		longest = max(longest, length)
		if length >= n && start == 0 {
			start = free[i]
		}
	}
	return start, longest
}

func (w *allocatorTwin) without(pages []messages.Page) {
	w.free = slices.DeleteFunc(w.free, func(p messages.Page) bool { return slices.Contains(pages, p) })
}

// allocatorLikeTwin drives both. With contiguous allocations the order of what
// comes back may differ, so only the set of free pages is compared then.
func allocatorLikeTwin(t failer, ops int, contiguous bool, draw func(int) int) {
	total := draw(200)
	a, twin := NewAllocator(total), &allocatorTwin{}
	for page := range messages.Page(total) {
		twin.free = append(twin.free, page+1)
	}
	var held [][]messages.Page
	for range ops {
		n := draw(20)
		switch op := draw(4); {
		case op < 2 && len(held) > 0:
			i := draw(len(held))
			if draw(2) == 0 {
				a.Release(held[i])
			} else {
				a.ReleaseRuns(runsOf(held[i]))
			}
			twin.free = append(twin.free, held[i]...)
			held = slices.Delete(held, i, i+1)
		case op == 2 && contiguous:
			pages, ok := a.AllocContiguous(n, nil)
			start, longest := twin.longest(n)
			if ok != (n <= longest) || !ok && len(pages) > 0 {
				t.Fatalf("%d pages, %d in a row: %v, %t", n, longest, pages, ok)
			} else if ok && n > 0 && (pages[0] != start || int(messages.FirstRun(pages).N) != n) {
				t.Fatalf("got %v, want %d pages from %d on", pages, n, start)
			}
			twin.without(pages)
			held = append(held, pages)
		default:
			pages, ok := a.Alloc(n, nil)
			if ok != (n <= len(twin.free)) || ok && len(pages) != n || !ok && len(pages) > 0 {
				t.Fatalf("%d of %d free pages: %v, %t", n, len(twin.free), pages, ok)
			}
			if !contiguous && !slices.Equal(pages, twin.free[:len(pages)]) {
				t.Fatalf("got %v of %v", pages, twin.free)
			}
			twin.without(pages)
			held = append(held, pages)
		}
		free := a.FreePages(nil)
		if a.Free() != len(free) || contiguous && !slices.Equal(sorted(free), sorted(twin.free)) || !contiguous && !slices.Equal(free, twin.free) {
			t.Fatalf("free %v, want %v", free, twin.free)
		}
	}
}

// TestAllocatorLikeTwin makes 10^5 operations in all, 10^7 in the soak.
func TestAllocatorLikeTwin(t *testing.T) {
	for _, contiguous := range []bool{false, true} {
		for run := range soak(50) {
			allocatorLikeTwin(t, 1000, contiguous, rand.New(rand.NewPCG(1, uint64(run))).IntN)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		contiguous := rapid.Bool().Draw(t, "contiguous")
		allocatorLikeTwin(t, 50, contiguous, func(n int) int { return rapid.IntRange(0, max(n-1, 0)).Draw(t, "n") })
	})
}
