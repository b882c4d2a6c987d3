package radix

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// A list has every page once if nothing changes, in parts of whole nodes.
func TestListHasEveryPage(t *testing.T) {
	tt := newEventTree(t, 1)
	tt.put("", 1, 2, 3)
	tt.put("a", 1, 2)
	tt.put("", 1, 2, 4)
	var all []uint64
	for _, e := range tt.TakeEvents() {
		all = append(all, e.Hashes...)
	}
	var listed []uint64
	parts, next := 0, uint64(0)
	for {
		var part []uint64
		part, next = tt.List(next, 1, nil)
		listed, parts = append(listed, part...), parts+1
		if next == 0 {
			break
		}
	}
	slices.Sort(all)
	slices.Sort(listed)
	if !slices.Equal(all, listed) || parts < tt.Nodes() {
		t.Errorf("listed in %d parts of %d nodes: %x, want %x", parts, tt.Nodes(), listed, all)
	}
}

// A node that the list has not come to is split, while a place before it is free. The
// upper part, whose pages no event names, is still listed.
func TestListMissesNoSplit(t *testing.T) {
	tt := newEventTree(t, 1)
	tt.put("", 1)
	tt.put("", 2)
	tt.put("", 3, 4, 5, 6)
	part, next := tt.List(0, 2, nil)
	if len(part) != 2 || next == 0 {
		t.Fatalf("first %x, to be continued after %d", part, next)
	}
	tt.evict(1) // frees a place that the list has passed
	node, _ := tt.Lock("", []int32{3, 4}, 2, nil)
	tt.Unlock(node)
	rest, next := tt.List(next, 10, nil)
	slices.Sort(rest)
	want := PageHashes("", []int32{3, 4, 5, 6}, 1)
	slices.Sort(want)
	if next != 0 || !slices.Equal(rest, want) {
		t.Errorf("then %x, want %x", rest, want)
	}
	if tt.listed != none {
		t.Error("the list goes on after its end")
	}
}

// A part of a list skips a bounded number of unused places.
func TestListSkipsInParts(t *testing.T) {
	tt := newEventTree(t, 1)
	for i := range int32(100) {
		tt.put("", i, i)
	}
	tt.evict(190)
	parts, found := 0, 0
	for next := uint64(0); parts == 0 || next != 0; parts++ {
		var part []uint64
		part, next = tt.List(next, 2, nil)
		found += len(part)
	}
	if found != 10 || parts < 100/(2*visitsPerPage) {
		t.Errorf("%d pages are listed in %d parts", found, parts)
	}
}

// The cache answers the portal. What it lists is a copy. Without events it has nothing.
func TestCacheListsPages(t *testing.T) {
	for _, events := range []bool{true, false} {
		c, out := New(Options{PageSize: 1, Events: events, History: 10}), messages.Outbox{}
		c.Handle(0, &messages.CommitPlan{Plan: 1, Inserts: []messages.PrefixInsert{{ID: 1, Tokens: []int32{7, 8}, Pages: []messages.Page{1, 2}}}}, &out)
		out.Reset()
		c.Handle(0, &messages.ListPages{Ticket: 5, Max: 10}, &out)
		if len(out.Sends) != 1 || out.Sends[0].To != messages.Portal {
			t.Fatalf("the answer is %v", out.Sends)
		}
		m := out.Sends[0].Msg.(*messages.PagesListed)
		var want []uint64
		if events {
			want = PageHashes("", []int32{7, 8}, 1)
		}
		if m.Ticket != 5 || m.Next != 0 || !slices.Equal(m.Hashes, want) {
			t.Errorf("with events %t: %+v, want the pages %x", events, m, want)
		}
		clear(m.Hashes)
		if n, _ := c.Tree().List(0, 10, nil); slices.Contains(n, 0) {
			t.Error("the list shares the tree's memory")
		}
	}
}
