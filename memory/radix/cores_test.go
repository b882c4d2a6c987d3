package radix

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/invariantstest"
)

// ring is cache and allocator behind one another, and what they sent last.
type ring struct {
	cache *Core
	alloc *pages.Core
	out   messages.Outbox
	meter map[messages.Metric]float64 // counters add up, gauges keep the last
}

func newRing(opts Options, total int) *ring {
	return &ring{
		cache: New(opts),
		alloc: pages.New(pages.Options{Pages: total}),
		meter: map[messages.Metric]float64{},
	}
}

// send passes a message around and returns what the batch former gets.
func (r *ring) send(t failer, msg messages.ToCache) any {
	r.out.Reset()
	r.cache.Handle(0, msg, &r.out)
	r.record()
	if len(r.out.Sends) == 1 && r.out.Sends[0].To == messages.Allocator {
		next := r.out.Sends[0].Msg.(messages.ToAllocator)
		r.out.Reset()
		r.alloc.Handle(0, next, &r.out)
		r.record()
	}
	if len(r.out.Sends) == 0 {
		return nil
	}
	if len(r.out.Sends) != 1 || r.out.Sends[0].To != messages.Former {
		t.Fatalf("%T brought %+v", msg, r.out.Sends)
	}
	return r.out.Sends[0].Msg
}

func (r *ring) record() {
	for _, reading := range r.out.Readings {
		if strings.HasSuffix(string(reading.Metric), "_total") {
			r.meter[reading.Metric] += reading.Value
		} else {
			r.meter[reading.Metric] = reading.Value
		}
	}
}

func want(t *testing.T, got, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(got, wanted) {
		t.Fatalf("got  %s\nwant %s", show(got), show(wanted))
	}
}

func show(v any) string { return fmt.Sprintf("%T%+v", v, reflect.Indirect(reflect.ValueOf(v))) }

func TestRingOfOnePlan(t *testing.T) {
	r := newRing(Options{PageSize: 2}, 10)
	want(t, r.send(t, &messages.LockPrefixes{Plan: 1, Prefixes: []messages.PrefixLock{{ID: 4, Tokens: []int32{1, 2, 3, 4}, Limit: 3}}}),
		&messages.PrefixesLocked{Plan: 1, Matches: []messages.PrefixLocked{{ID: 4}}})
	want(t, r.send(t, &messages.CommitPlan{Plan: 1, Reserves: []messages.PageReserve{{ID: 4, Pages: 3}, {ID: 5, Pages: 2}}}),
		&messages.PagesReserved{Plan: 1, Free: 5,
			Granted: []messages.PagesGranted{{ID: 4, Pages: []messages.Page{1, 2, 3}}, {ID: 5, Pages: []messages.Page{4, 5}}}})

	// 4 and 5 have the same first page; 5 ends and gives its last page back.
	got := r.send(t, &messages.CommitPlan{Plan: 2, Inserts: []messages.PrefixInsert{
		{ID: 4, Tokens: []int32{1, 2, 3, 4}, Pages: []messages.Page{1, 2}, Keep: true},
		{ID: 5, Tokens: []int32{1, 2}, Pages: []messages.Page{4}},
	}, Frees: []messages.Page{5}}).(*messages.PagesReserved)
	node := got.Inserted[0].Node
	want(t, got, &messages.PagesReserved{Plan: 2, Free: 7, Cached: messages.CachePages{Protected: 2},
		Inserted: []messages.PrefixInserted{{ID: 4, Node: node}, {ID: 5}}, Granted: []messages.PagesGranted{}})

	locked := r.send(t, &messages.LockPrefixes{Plan: 3, Prefixes: []messages.PrefixLock{
		{ID: 6, Tokens: []int32{1, 2, 3, 4}, Limit: 3}, {ID: 7, Namespace: "x", Tokens: []int32{1, 2, 3}, Limit: 2}}}).(*messages.PrefixesLocked)
	upper := locked.Matches[0].Node
	want(t, locked, &messages.PrefixesLocked{Plan: 3, Cached: messages.CachePages{Protected: 2},
		Matches: []messages.PrefixLocked{{ID: 6, Node: upper, Pages: []messages.Page{1}}, {ID: 7}}})

	// Unlocks come before the eviction, frees before the reservation.
	want(t, r.send(t, &messages.CommitPlan{Plan: 3, Unlocks: []messages.NodeID{node, upper}, EvictPages: 1,
		Frees: []messages.Page{3}, Reserves: []messages.PageReserve{{ID: 7, Pages: 9}}}),
		&messages.PagesReserved{Plan: 3, Free: 0, Cached: messages.CachePages{Evictable: 1}, Inserted: []messages.PrefixInserted{},
			Granted: []messages.PagesGranted{{ID: 7, Pages: []messages.Page{6, 7, 8, 9, 10, 5, 4, 3, 2}}}})
	want(t, r.send(t, &messages.AuditSlots{Ticket: 8, Count: messages.PageCount{Leased: 9}}),
		&messages.AuditSlots{Ticket: 8, Count: messages.PageCount{Leased: 9, Evictable: 1, Total: 10}})
	want(t, r.send(t, &messages.CommitPlan{Plan: 4, EvictAll: true}),
		&messages.PagesReserved{Plan: 4, Free: 1, Inserted: []messages.PrefixInserted{}, Granted: []messages.PagesGranted{}})
	want(t, r.meter, map[messages.Metric]float64{
		messages.EvictedTokens: 4, messages.RadixNodes: 0,
		messages.PagesEvictable: 0, messages.PagesProtected: 0, messages.PagesFree: 1, messages.Pages: 10,
	})
}

// TestOrderOfFreedPages: the leases' pages come free first, then the copies of
// insertions, then what is evicted, node by node and each from its first page.
// Two nodes that lie one behind the other in the pool go as one run.
func TestOrderOfFreedPages(t *testing.T) {
	r := newRing(Options{PageSize: 1}, 20)
	r.send(t, &messages.CommitPlan{Plan: 1, Reserves: []messages.PageReserve{{ID: 1, Pages: 20}}})
	r.send(t, &messages.CommitPlan{Plan: 2, Inserts: []messages.PrefixInsert{
		{ID: 1, Tokens: []int32{11, 12, 13}, Pages: []messages.Page{14, 15, 9}},
		{ID: 2, Tokens: []int32{21, 22}, Pages: []messages.Page{10, 11}},
		{ID: 3, Tokens: []int32{31, 32, 33, 34}, Pages: []messages.Page{2, 4, 5, 6}},
	}})
	plan := &messages.CommitPlan{Plan: 3, Frees: []messages.Page{20, 7}, Inserts: []messages.PrefixInsert{
		{ID: 4, Tokens: []int32{31, 32}, Pages: []messages.Page{19, 1}},
	}, EvictPages: 10, Reserves: []messages.PageReserve{{ID: 5, Pages: 13}}}
	r.out.Reset()
	r.cache.Handle(0, plan, &r.out)
	reserve := r.out.Sends[0].Msg.(*messages.ReservePages)
	want(t, reserve.Frees, []messages.Page{20, 7, 19, 1})
	want(t, reserve.Evicted, []messages.PageRun{{First: 14, N: 2}, {First: 9, N: 3}, {First: 5, N: 2}, {First: 4, N: 1}})
	r.record()
	want(t, r.meter[messages.EvictedTokens], 8.0)

	// One page more than the twelve that came free is refused, and names both
	// lists; they stay free, in their order.
	r.out.Reset()
	r.alloc.Handle(0, reserve, &r.out)
	want(t, r.out.Sends[0].Msg, &messages.PagesRefused{Plan: 3, Wanted: 13, Free: 12,
		Reason: "plan 3 requires 13 pages, but only 12 are free (12 of them freed by this plan)"})
	r.out.Reset()
	r.alloc.Handle(0, &messages.ReservePages{Plan: 4, Reserves: []messages.PageReserve{{ID: 5, Pages: 12}}}, &r.out)
	want(t, r.out.Sends[0].Msg.(*messages.PagesReserved).Granted[0].Pages, []messages.Page{20, 7, 19, 1, 14, 15, 9, 10, 11, 5, 6, 4})
}

// TestEvictedRunsComeHome: the next plan evicts into the memory of the last.
func TestEvictedRunsComeHome(t *testing.T) {
	cache := New(Options{PageSize: 1})
	var out messages.Outbox
	commit := func(m *messages.CommitPlan) []messages.PageRun {
		out.Reset()
		cache.Handle(0, m, &out)
		return out.Sends[0].Msg.(*messages.ReservePages).Evicted
	}
	commit(&messages.CommitPlan{Plan: 1, Inserts: []messages.PrefixInsert{{ID: 1, Tokens: []int32{1, 2, 3, 4}, Pages: []messages.Page{5, 6, 7, 9}}}})
	first := commit(&messages.CommitPlan{Plan: 2, EvictPages: 2})
	want(t, first, []messages.PageRun{{First: 7, N: 1}, {First: 9, N: 1}})
	if none := commit(&messages.CommitPlan{Plan: 3}); len(none) != 0 {
		t.Fatalf("evicted %v without need", none)
	}
	second := commit(&messages.CommitPlan{Plan: 4, EvictAll: true})
	want(t, second, []messages.PageRun{{First: 5, N: 2}})
	if &first[0] != &second[0] {
		t.Fatal("the second plan's runs lie in memory of their own")
	}
}

func TestGrantsDoNotShareRoom(t *testing.T) {
	r := newRing(Options{PageSize: 1}, 4)
	got := r.send(t, &messages.CommitPlan{Plan: 1, Reserves: []messages.PageReserve{{ID: 1, Pages: 1}, {ID: 2, Pages: 1}}}).(*messages.PagesReserved)
	_ = append(got.Granted[0].Pages, 99)
	want(t, got.Granted[1].Pages, []messages.Page{2})
}

func TestRefusalReservesNothing(t *testing.T) {
	r := newRing(Options{PageSize: 1}, 4)
	want(t, r.send(t, &messages.CommitPlan{Plan: 1, Reserves: []messages.PageReserve{{ID: 1, Pages: 3}, {ID: 2, Pages: 2}}}),
		&messages.PagesRefused{Plan: 1, Wanted: 5, Free: 4, Reason: "plan 1 requires 5 pages, but only 4 are free (0 of them freed by this plan)"})
	if r.alloc.Free() != 4 {
		t.Fatalf("%d pages free", r.alloc.Free())
	}
}

func TestDisabledCache(t *testing.T) {
	r := newRing(Options{PageSize: 1, Disabled: true}, 4)
	r.send(t, &messages.CommitPlan{Plan: 1, Reserves: []messages.PageReserve{{ID: 1, Pages: 3}}})
	got := r.send(t, &messages.CommitPlan{Plan: 2, Inserts: []messages.PrefixInsert{{ID: 1, Tokens: []int32{7, 8}, Pages: []messages.Page{1, 2}}}})
	want(t, got, &messages.PagesReserved{Plan: 2, Inserted: []messages.PrefixInserted{{ID: 1}}, Granted: []messages.PagesGranted{}, Free: 3})
	got = r.send(t, &messages.LockPrefixes{Plan: 3, Prefixes: []messages.PrefixLock{{ID: 2, Tokens: []int32{7, 8, 9}, Limit: 2}}})
	want(t, got, &messages.PrefixesLocked{Plan: 3, Matches: []messages.PrefixLocked{{ID: 2}}})
	invariantstest.MustFail(t, "request 1 keeps a prefix in a disabled cache", func() {
		r.send(t, &messages.CommitPlan{Plan: 3, Inserts: []messages.PrefixInsert{{ID: 1, Keep: true}}})
	})
}

func TestCoreViolations(t *testing.T) {
	r := newRing(Options{PageSize: 1}, 4)
	plan := &messages.CommitPlan{Plan: 1}
	r.send(t, plan)
	invariantstest.MustFail(t, "plan 1 committed after plan 1", func() { r.send(t, plan) })
	invariantstest.MustFail(t, "request 6 reserves 0 pages", func() {
		r.send(t, &messages.CommitPlan{Plan: 2, Reserves: []messages.PageReserve{{ID: 6}}})
	})
	invariantstest.MustFail(t, "the cache got a <nil>", func() { r.cache.Handle(0, nil, &r.out) })
	invariantstest.MustFail(t, "the allocator got a <nil>", func() { r.alloc.Handle(0, nil, &r.out) })
}
