package pages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/invariantstest"
)

// slots prints pages of one slot as the notebooks do, from 0 on.
func slots(pages []messages.Page) string {
	var words []string
	for len(pages) > 0 {
		run := messages.FirstRun(pages)
		pages = pages[run.N:]
		if run.N == 1 {
			words = append(words, fmt.Sprint(run.First-1))
		} else {
			words = append(words, fmt.Sprintf("%d…%d", run.First-1, run.First+run.N-2))
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
	a.Release(messages.PageRun{First: 10, N: 5}.AppendTo(nil))
	a.Release(messages.PageRun{First: 60, N: 9}.AppendTo(nil))   // over the border of a word
	a.Release(messages.PageRun{First: 192, N: 9}.AppendTo(nil))  // up to the last page
	a.Release(messages.PageRun{First: 70, N: 100}.AppendTo(nil)) // over whole words
	got, ok := a.AllocContiguous(9, nil)
	if !ok || slots(got) != "59…67" {
		t.Fatalf("got %s: %t", slots(got), ok)
	}
	if got, ok = a.AllocContiguous(90, got); !ok || slots(got) != "59…67, 69…158" || a.Free() != 24 {
		t.Fatalf("got %s: %t", slots(got), ok)
	}
	if got, ok := a.AllocContiguous(11, nil); ok || len(got) > 0 || a.Free() != 24 {
		t.Fatalf("got %v: %t, of runs of 10 at most", got, ok)
	}
	if got, ok := a.AllocContiguous(0, nil); !ok || len(got) > 0 {
		t.Fatalf("got %v: %t", got, ok)
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
	invariantstest.MustFail(t, "allocating -1", func() { a.AllocContiguous(-1, nil) })

	fresh := NewAllocator(100) // a run may begin among the returned pages
	fresh.Alloc(10, nil)
	fresh.Release([]messages.Page{8, 9, 10})
	if got, ok := fresh.AllocContiguous(5, nil); !ok || slots(got) != "7…11" || slots(fresh.FreePages(nil)) != "12…99" {
		t.Fatalf("got %s, free %s: %t", slots(got), slots(fresh.FreePages(nil)), ok)
	}
}

func TestContiguousReservations(t *testing.T) {
	core := New(Options{Pages: 12, Contiguous: true})
	var out messages.Outbox
	reserve := func(frees []messages.Page, pages ...int) string {
		t.Helper()
		m := &messages.ReservePages{Frees: frees}
		for i, n := range pages {
			m.Reserves = append(m.Reserves, messages.PageReserve{ID: messages.RequestID(i), Pages: n})
		}
		out.Reset()
		core.Handle(0, m, &out)
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
		{reserve(nil, 2), "0, 8"}, // nothing in a row any more
		{reserve(nil, 1), "plan 0 requires 1 pages, but only 0 are free (0 of them freed by this plan)"},
	} {
		if step.got != step.want {
			t.Errorf("got %s, want %s", step.got, step.want)
		}
	}
}
