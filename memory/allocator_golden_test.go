package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"pgregory.net/rapid"
)

// slots prints pages of one slot as the notebooks do, from 0 on.
func slots(pages []messages.Page) string {
	var words []string
	for len(pages) > 0 {
		run := runOf(pages)
		pages = pages[run.n:]
		if run.n == 1 {
			words = append(words, fmt.Sprint(run.first-1))
		} else {
			words = append(words, fmt.Sprintf("%d…%d", run.first-1, run.first+run.n-2))
		}
	}
	return strings.Join(words, ", ")
}

// TestNotebookPoolOfFifty is the notebook's demo of 50 slots and two requests
// of 7.
func TestNotebookPoolOfFifty(t *testing.T) {
	a := NewAllocator(50)
	show := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	show("free at first", slots(a.FreePages(nil)), "0…49")
	first, _ := a.Alloc(7, nil)
	show("request 0", slots(first), "0…6")
	second, _ := a.Alloc(7, nil)
	show("request 1", slots(second), "7…13")
	show("free then", slots(a.FreePages(nil)), "14…49")
	a.Release(first)
	show("free after request 0", slots(a.FreePages(nil)), "14…49, 0…6")
	rest, _ := a.Alloc(40, nil)
	show("the next 40", slots(rest), "14…49, 0…3")
	show("free at last", slots(a.FreePages(nil)), "4…6")
}

func TestAllocContiguous(t *testing.T) {
	a := NewAllocator(200)
	a.Alloc(200, nil)
	a.Release(pageRun{10, 5}.appendTo(nil))
	a.Release(pageRun{60, 9}.appendTo(nil))   // over the border of a word
	a.Release(pageRun{192, 9}.appendTo(nil))  // up to the last page
	a.Release(pageRun{70, 100}.appendTo(nil)) // over whole words
	got, err := a.AllocContiguous(9, nil)
	if err != nil || slots(got) != "59…67" {
		t.Fatalf("got %s: %v", slots(got), err)
	}
	if got, err = a.AllocContiguous(90, got); err != nil || slots(got) != "59…67, 69…158" || a.Free() != 24 {
		t.Fatalf("got %s: %v", slots(got), err)
	}
	var refused *NotContiguous
	if got, err := a.AllocContiguous(11, nil); !errors.As(err, &refused) || *refused != (NotContiguous{Wanted: 11, Longest: 10, Free: 24}) || len(got) > 0 {
		t.Fatalf("got %v: %v", got, err)
	}
	if !strings.Contains(refused.Error(), "no 11 consecutive pages: 24 pages are free, at most 10 of them in a row") {
		t.Fatal(refused)
	}
	if got, err := a.AllocContiguous(0, nil); err != nil || len(got) > 0 {
		t.Fatalf("got %v: %v", got, err)
	}
	if got := slots(a.FreePages(nil)); got != "9…13, 191…199, 159…168" {
		t.Fatalf("free %s", got)
	}
	// Stale places in the ring are passed by, and one is good again when its
	// page comes back before that.
	a.Release([]messages.Page{64})
	all, ok := a.Alloc(25, nil)
	if !ok || slots(all) != "9…13, 63, 191…199, 159…168" || a.Free() != 0 || a.stale != 0 {
		t.Fatalf("got %s, %d stale", slots(all), a.stale)
	}
	mustViolate(t, "allocating -1", func() { a.AllocContiguous(-1, nil) })

	fresh := NewAllocator(100) // a run may begin among the returned pages
	fresh.Alloc(10, nil)
	fresh.Release([]messages.Page{8, 9, 10})
	if got, err := fresh.AllocContiguous(5, nil); err != nil || slots(got) != "7…11" || slots(fresh.FreePages(nil)) != "12…99" {
		t.Fatalf("got %s, free %s: %v", slots(got), slots(fresh.FreePages(nil)), err)
	}
}

func TestContiguousReservations(t *testing.T) {
	core := NewAllocCore(AllocOptions{Pages: 12, Contiguous: true})
	var out messages.Outbox
	reserve := func(frees []messages.Page, pages ...int) string {
		t.Helper()
		m := &messages.ReservePages{Frees: frees}
		for i, n := range pages {
			m.Reserves = append(m.Reserves, messages.PageReserve{ID: messages.RequestID(i), Pages: n})
		}
		out.Reset()
		core.Step(0, m, &out)
		var text []string
		switch reply := out.Sends[0].Msg.(type) {
		case *messages.PagesReserved:
			for _, g := range reply.Granted {
				text = append(text, slots(g.Pages))
			}
		case *messages.PagesRefused:
			text = append(text, reply.Reason)
		}
		return strings.Join(text, "; ")
	}
	for _, step := range []struct{ got, want string }{
		{reserve(nil, 3, 3, 3), "0…2; 3…5; 6…8"},
		{reserve([]messages.Page{4, 5, 6}, 2, 3), "3…4; 9…11"},
		{reserve([]messages.Page{9, 1, 7}, 2), "5…6"},
		{reserve(nil, 2), "8, 0"}, // nothing in a row any more
		{reserve(nil, 1), "plan 0 wants 1 pages and 0 are free, after freeing 0"},
	} {
		if step.got != step.want {
			t.Errorf("got %s, want %s", step.got, step.want)
		}
	}
}

// TestPagedDecodeNeedsPages: of a pool of 4 pages, requests at a page border
// take one each, others none.
func TestPagedDecodeNeedsPages(t *testing.T) {
	missing := func(requests, prefix, seq int) int {
		l := Lease{State: LeaseOpen}
		l.Grow(make([]messages.Page, l.Missing(prefix, 4)))
		return requests * l.Missing(seq, 4)
	}
	a := NewAllocator(4)
	if _, ok := a.Alloc(missing(2, 3, 4), nil); !ok || a.Free() != 4 {
		t.Fatalf("%d pages free", a.Free())
	}
	if _, ok := a.Alloc(missing(5, 4, 5), nil); ok || a.Free() != 4 {
		t.Fatalf("five requests got a page of four, %d free", a.Free())
	}
	if _, ok := a.Alloc(missing(4, 4, 5), nil); !ok || a.Free() != 0 {
		t.Fatalf("four requests got no page, %d free", a.Free())
	}
	if n := missing(1, 0, 32); n != 8 {
		t.Fatalf("32 tokens need %d pages", n)
	}
}

// allocatorTwin is the slow, obvious allocator: a plain list of free pages.
type allocatorTwin struct{ free []messages.Page }

// longest is the longest run of consecutive free pages and the lowest of n.
func (w *allocatorTwin) longest(n int) (start messages.Page, longest int) {
	free := sorted(w.free)
	for i := range free {
		length := int(runOf(free[i:]).n)
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
				a.ReleaseRuns(longestRuns(held[i]))
			}
			twin.free = append(twin.free, held[i]...)
			held = slices.Delete(held, i, i+1)
		case op == 2 && contiguous:
			pages, err := a.AllocContiguous(n, nil)
			start, longest := twin.longest(n)
			if refused := (*NotContiguous)(nil); errors.As(err, &refused) != (n > longest) {
				t.Fatalf("%d pages, %d in a row: %v", n, longest, err)
			} else if err != nil && (refused.Longest != longest || refused.Free != len(twin.free)) {
				t.Fatalf("%v, want %d in a row of %d", err, longest, len(twin.free))
			} else if err == nil && n > 0 && (pages[0] != start || int(runOf(pages).n) != n) {
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
