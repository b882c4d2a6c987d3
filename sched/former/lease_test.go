package former

import (
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/invariantstest"
)

// slotOf is where a device has the KV of the token at a position.
func slotOf(l *Lease, position, pageSize int) int {
	return int(l.Pages[position/pageSize])*pageSize + position%pageSize
}

// TestLeaseExtends has the cases of an extension from prefix tokens to seq
// tokens at page size 4: the pages held, the pages granted, the slots written.
func TestLeaseExtends(t *testing.T) {
	tests := []struct {
		prefix, seq   int
		held, granted []messages.Page
		slots         []int
	}{
		{2, 4, []messages.Page{0}, nil, []int{2, 3}},
		{0, 8, nil, []messages.Page{5, 6}, []int{20, 21, 22, 23, 24, 25, 26, 27}},
		{4, 7, []messages.Page{0}, []messages.Page{3}, []int{12, 13, 14}},
		{2, 8, []messages.Page{0}, []messages.Page{3}, []int{2, 3, 12, 13, 14, 15}},
		{2, 7, []messages.Page{0}, []messages.Page{3}, []int{2, 3, 12, 13, 14}},
		{4, 11, []messages.Page{0}, []messages.Page{2, 3}, []int{8, 9, 10, 11, 12, 13, 14}},
		{2, 11, []messages.Page{0}, []messages.Page{3, 4}, []int{2, 3, 12, 13, 14, 15, 16, 17, 18}},
		{4, 4, []messages.Page{0}, nil, nil},
		{3, 4, []messages.Page{0}, nil, []int{3}},                    // decode within a page
		{4, 5, []messages.Page{0}, []messages.Page{9}, []int{36}},    // decode into the next
		{2, 3, []messages.Page{7, 8}, nil, []int{30}},                // room left over
		{8, 9, []messages.Page{1, 2}, []messages.Page{5}, []int{20}}, // decode into the third
	}
	for _, tt := range tests {
		l := Lease{state: leaseOpen, Pages: slices.Clone(tt.held)}
		if got := l.Missing(tt.seq, 4); got != len(tt.granted) {
			t.Errorf("%d to %d tokens: %d pages missing, want %d", tt.prefix, tt.seq, got, len(tt.granted))
			continue
		}
		l.Grow(tt.granted)
		var slots []int
		for at := tt.prefix; at < tt.seq; at++ {
			slots = append(slots, slotOf(&l, at, 4))
		}
		if !slices.Equal(slots, tt.slots) {
			t.Errorf("%d to %d tokens: slots %v, want %v", tt.prefix, tt.seq, slots, tt.slots)
		}
		if l.Capacity(4) != len(l.Pages)*4 || l.Capacity(4) < tt.seq {
			t.Errorf("%d to %d tokens: capacity %d", tt.prefix, tt.seq, l.Capacity(4))
		}
	}
}

func TestLeaseLife(t *testing.T) {
	match := messages.PrefixLocked{ID: 1, Node: 77, Pages: []messages.Page{4, 5}}
	l := OpenLease(3, match, 16)
	if l.state != leaseOpen || l.Cached != 32 || l.Owned != 2 || len(l.Private()) != 0 || l.Capacity(16) != 32 {
		t.Fatalf("opened %+v", l)
	}
	l.Grow([]messages.Page{8, 9, 10})
	if match.Pages[0] = 99; l.Pages[0] != 4 {
		t.Fatal("the lease shares memory with the match")
	}
	l.Launch(1)
	invariantstest.MustFail(t, "launched in step 1 after 1", func() { l.Launch(1) })
	if l.Settled(0) || !l.Settled(1) {
		t.Fatal("the fence is wrong")
	}
	if !l.Inserted(messages.PrefixInserted{Node: 78, First: 2, Pages: []messages.Page{6}}, 4) {
		t.Fatal("the replacement was not reported")
	}
	if !slices.Equal(l.Pages, []messages.Page{4, 5, 6, 9, 10}) || l.Owned != 4 || l.Node != 78 || l.Cached != 32 {
		t.Fatalf("after insertion %+v", l)
	}
	if l.Inserted(messages.PrefixInserted{Node: 78}, 4) {
		t.Fatal("a replacement of nothing was reported")
	}
	invariantstest.MustFail(t, "lease open, cannot be released", func() { l.Release(9) })
	l.Launch(2)
	l.Close()
	l.Close()
	invariantstest.MustFail(t, "lease closing, cannot grow", func() { l.Grow(nil) })
	invariantstest.MustFail(t, "lease closing, cannot be launched", func() { l.Launch(3) })
	invariantstest.MustFail(t, "in use until 2", func() { l.Release(1) })
	row, pages, node := l.Release(2)
	if row != 3 || !slices.Equal(pages, []messages.Page{10}) || node != 78 || l.state != leaseNone {
		t.Fatalf("released row %d, %v, %d: %+v", row, pages, node, l)
	}
	invariantstest.MustFail(t, "closed without a lease", func() { l.Close() })
}

func TestLeaseViolations(t *testing.T) {
	open := func() *Lease {
		l := OpenLease(0, messages.PrefixLocked{Node: 7, Pages: []messages.Page{1}}, 4)
		l.Grow([]messages.Page{2, 3})
		return &l
	}
	invariantstest.MustFail(t, "0 of 0 pages owned through node 0x7", func() { OpenLease(0, messages.PrefixLocked{Node: 7}, 4) })
	invariantstest.MustFail(t, "1 of 1 pages owned through node 0x0", func() { OpenLease(0, messages.PrefixLocked{Pages: []messages.Page{1}}, 4) })
	invariantstest.MustFail(t, "inserted 4 pages of 3", func() { open().Inserted(messages.PrefixInserted{Node: 7}, 4) })
	invariantstest.MustFail(t, "inserted 0 pages of 3", func() { open().Inserted(messages.PrefixInserted{}, 0) })
	invariantstest.MustFail(t, "owned through node 0x0", func() { open().Inserted(messages.PrefixInserted{}, 2) })
	invariantstest.MustFail(t, "replaces 1 pages from 0 on", func() {
		open().Inserted(messages.PrefixInserted{Node: 7, First: 0, Pages: []messages.Page{9}}, 2)
	})
	invariantstest.MustFail(t, "replaces 2 pages from 1 on", func() {
		open().Inserted(messages.PrefixInserted{Node: 7, First: 1, Pages: []messages.Page{9, 8}}, 2)
	})
}

// TestPagedDecodeNeedsPages: of a pool of 4 pages, requests at a page border
// take one each, others none.
func TestPagedDecodeNeedsPages(t *testing.T) {
	missing := func(requests, prefix, seq int) int {
		l := Lease{state: leaseOpen}
		l.Grow(make([]messages.Page, l.Missing(prefix, 4)))
		return requests * l.Missing(seq, 4)
	}
	a := pages.NewAllocator(4)
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
	invariantstest.MustFail(t, "row 1 given back twice", func() { r.Give(1) })
	invariantstest.MustFail(t, "row 3 given back, of 3", func() { r.Give(3) })
	invariantstest.MustFail(t, "row -1 given back, of 3", func() { r.Give(-1) })
	take("1 true")
	take("0 true")
	if r.Free() != 0 {
		t.Fatalf("%d free", r.Free())
	}
	invariantstest.MustFail(t, "a table of 0 rows", func() { NewRows(0) })
}
