package former

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// audited is an engine that has served one request, whose three whole pages of
// four tokens are cached, and runs another one on four pages, the last of which
// holds two tokens.
func audited() *virtual {
	v := newVirtual(Options{PageSize: 4, Pages: 40, MaxRunning: 4, ContextLength: 160, ChunkedPrefillSize: 64}, linear)
	v.enqueue(9, 5, nil)
	for v.step() {
	}
	v.enqueue(10, 50, nil)
	v.steady(4)
	return v
}

// ask lets intake ask for an audit.
func (v *virtual) ask() {
	v.deliver(messages.Former, &messages.AuditSlots{Ticket: 7})
}

// What SGLang's invariant checker finds (item 32): a page without an owner,
// found when asked and when the engine is idle, a page of two owners, and
// counters that are wrong though their sum is right.
func TestAuditFindsWhatDoesNotAddUp(t *testing.T) {
	alloc := func(v *virtual, m *messages.ReservePages) {
		v.alloc.Handle(0, m, &messages.Outbox{}) // the answer is dropped
	}
	leased := func(v *virtual) messages.Page { return v.former.batch.running[0].lease.Private()[0] }
	for _, c := range []struct {
		name   string
		damage func(v *virtual)
		heals  bool // the next plan's reply brings the counters back
	}{
		{"a page without an owner", func(v *virtual) {
			alloc(v, &messages.ReservePages{Plan: 99, Reserves: []messages.PageReserve{{ID: 99, Pages: 1}}})
		}, false},
		{"a page that is leased and free", func(v *virtual) {
			alloc(v, &messages.ReservePages{Plan: 99, Frees: []messages.Page{leased(v)}})
		}, false},
		{"a page that is cached and free", func(v *virtual) {
			alloc(v, &messages.ReservePages{Plan: 99, Frees: []messages.Page{1}}) // the first one was never given back
		}, false},
		{"a page that left the cache and has no owner", func(v *virtual) {
			v.former.plan.id++
			v.cache.Handle(0, &messages.CommitPlan{Plan: v.former.plan.id, EvictPages: 1}, &messages.Outbox{}) // never reaches the allocator
		}, false},
		{"counters that are wrong in sum", func(v *virtual) {
			v.former.pages.free, v.former.pages.cached.Evictable = v.former.pages.free+1, v.former.pages.cached.Evictable-1
		}, true},
	} {
		for _, idle := range []bool{false, true} {
			if idle && c.heals {
				continue
			}
			v := audited()
			c.damage(v)
			if idle {
				v.finish(v.ids)
				for v.step() {
				}
			} else {
				v.ask()
			}
			if len(v.failed) == 0 || !strings.Contains(v.failed[0].Cause, "audit of KV pages failed") {
				t.Errorf("%s, idle %t: the epoch goes on: %+v", c.name, idle, v.failed)
			}
			if !idle && (len(v.audits) != 1 || v.audits[0].OK) {
				t.Errorf("%s: the answer is %+v", c.name, v.audits)
			}
		}
	}
}

// A page that is partly filled is one page of its lease, beside a step that
// writes into it and between the chunks of a prompt.
func TestAuditCountsPartialPagesOnce(t *testing.T) {
	v := audited()
	v.ask()
	if len(v.audits) != 1 || !v.audits[0].OK {
		t.Fatalf("%+v", v.audits)
	}
	want := messages.PageCount{Free: 40 - 3 - 2 - 2, Evictable: 3, Protected: 2, Leased: 2, Total: 40}
	if got := v.audits[0].Count; got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	for _, page := range []int{1, 4, 16} {
		v := newVirtual(Options{PageSize: page, Pages: 640 / page, MaxRunning: 8, ContextLength: 160, ChunkedPrefillSize: page + page/4, CacheDisabled: true}, linear)
		for _, prompt := range []int{50, 33, 5, 61} {
			v.enqueue(prompt, 9, nil)
		}
		partial := 0
		for v.step() {
			leased := 0
			for _, s := range v.former.batch.running {
				leased += len(s.lease.Pages)
				if s.state == prefilling && s.scheduled%page != 0 {
					partial++
				}
			}
			v.audits = v.audits[:0]
			v.ask()
			if got := v.audits[0]; !got.OK || got.Count.Leased != leased {
				t.Fatalf("pages of %d: %+v, want %d leased", page, got, leased)
			}
		}
		if page == 16 && partial == 0 {
			t.Errorf("pages of %d: no chunk ended inside one", page)
		}
		if len(v.ended) != 4 {
			t.Errorf("pages of %d: %d of 4 ended", page, len(v.ended))
		}
	}
}
