package radix

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func newEventTree(t *testing.T, pageSize int) *treeTest {
	tt := newTreeTest(t, pageSize)
	tt.Tree = NewTree(TreeOptions{PageSize: pageSize, Events: true})
	return tt
}

func TestEventsNamePagesByChainedHashes(t *testing.T) {
	tt := newEventTree(t, 4)
	tt.put("", 1, 2, 3, 4, 1, 2, 3, 4)
	first := PageHash(0, []int32{1, 2, 3, 4})
	second := PageHash(first, []int32{1, 2, 3, 4})
	want(t, tt.TakeEvents(), []messages.CacheEvent{{
		Kind: messages.PagesStored, Hashes: []uint64{first, second}, Tokens: []int32{1, 2, 3, 4, 1, 2, 3, 4}, PageSize: 4,
	}})
	if first == second {
		t.Fatal("equal pages at different places have equal hashes")
	}
	// A page below an old one names it as its parent; what is known is not
	// stored again.
	tt.put("", 1, 2, 3, 4, 9, 9, 9, 9)
	ninth := PageHash(first, []int32{9, 9, 9, 9})
	want(t, tt.TakeEvents(), []messages.CacheEvent{{
		Kind: messages.PagesStored, Hashes: []uint64{ninth}, Parent: first, HasParent: true, Tokens: []int32{9, 9, 9, 9}, PageSize: 4,
	}})
	tt.put("", 1, 2, 3, 4)
	want(t, tt.TakeEvents(), []messages.CacheEvent(nil))
	// The split divided the hashes: two requests on one node, each its own.
	if node, _ := tt.Lock("", []int32{1, 2, 3, 4}, 4, nil); len(tt.hashes.nodes[tt.locked(node)]) != 1 {
		t.Fatalf("the shared node has hashes %x", tt.hashes.nodes[tt.locked(node)])
	} else {
		tt.Unlock(node)
	}
	tt.evict(2)
	want(t, tt.TakeEvents(), []messages.CacheEvent{{Kind: messages.PagesRemoved, Hashes: []uint64{second, ninth}}})
	tt.EvictAll(nil)
	want(t, tt.TakeEvents(), []messages.CacheEvent{{Kind: messages.PagesCleared}})
	tt.EvictAll(nil)
	want(t, tt.TakeEvents(), []messages.CacheEvent(nil))
}

func TestEventsOfALockedCacheAreNoClear(t *testing.T) {
	tt := newEventTree(t, 1)
	tt.put("", 1, 2, 3)
	node, _ := tt.Lock("", []int32{1}, 1, nil)
	stored := tt.TakeEvents()[0].Hashes
	tt.EvictAll(nil)
	want(t, tt.TakeEvents(), []messages.CacheEvent{{Kind: messages.PagesRemoved, Hashes: stored[1:]}})
	tt.Unlock(node)
}

func TestEventsTellNamespacesApart(t *testing.T) {
	tt := newEventTree(t, 2)
	seen := map[uint64]string{}
	for _, ns := range []string{"", "key1", "key2"} {
		tt.put(ns, 1, 2, 3, 4)
		e := tt.TakeEvents()[0]
		if e.Namespace != ns || e.HasParent || e.Hashes[0] != PageHash(RootHash(ns), []int32{1, 2}) {
			t.Fatalf("%q: %+v", ns, e)
		}
		for _, h := range e.Hashes {
			if other, ok := seen[h]; ok {
				t.Fatalf("%q and %q share the hash %x", ns, other, h)
			}
			seen[h] = ns
		}
	}
}

// TestEventsAreBatched: one message per step that changed something, numbered
// without gaps, and none when the option is off.
func TestEventsAreBatched(t *testing.T) {
	for _, on := range []bool{true, false} {
		core := New(Options{PageSize: 1, Events: on})
		var got []*messages.CacheChanged
		for plan, m := range []*messages.CommitPlan{
			{Inserts: []messages.PrefixInsert{{ID: 1, Tokens: []int32{1, 2}, Pages: []messages.Page{1, 2}}, {ID: 2, Tokens: []int32{1, 3}, Pages: []messages.Page{3, 4}}}},
			{Reserves: []messages.PageReserve{{ID: 1, Pages: 1}}},
			{EvictPages: 1},
			{EvictAll: true},
		} {
			var out messages.Outbox
			m.Plan = messages.PlanID(plan + 1)
			core.Handle(0, m, &out)
			for _, send := range out.Sends {
				if send.To == messages.Observer {
					got = append(got, send.Msg.(*messages.CacheChanged))
				}
			}
		}
		if !on {
			want(t, len(got), 0)
			continue
		}
		var kinds [][]messages.CacheEventKind
		for i, m := range got {
			if m.Seq != uint64(i+1) {
				t.Errorf("message %d is %+v", i, m)
			}
			var k []messages.CacheEventKind
			for _, e := range m.Events {
				k = append(k, e.Kind)
			}
			kinds = append(kinds, k)
		}
		want(t, kinds, [][]messages.CacheEventKind{
			{messages.PagesStored, messages.PagesStored}, {messages.PagesRemoved}, {messages.PagesCleared}})
	}
}

// TestEventsTellTheContents follows the events of random runs under every
// policy: what they leave is what the tree has.
func TestEventsTellTheContents(t *testing.T) {
	for _, name := range variantNames() {
		t.Run(name, func(t *testing.T) {
			opts := treeVariants[name]()
			opts.PageSize, opts.Events = 4, true
			followEvents(t, newTreeMachine(t, opts, 60, newRNG(5)), 500)
		})
	}
}

func followEvents(t *testing.T, m *treeMachine, steps int) {
	known := map[uint64]bool{}
	for range steps {
		m.step()
		for _, e := range m.tree.TakeEvents() {
			switch e.Kind {
			case messages.PagesStored:
				if e.HasParent && !known[e.Parent] || len(e.Tokens) != 4*len(e.Hashes) {
					t.Fatalf("stored %+v", e)
				}
				for _, h := range e.Hashes {
					if known[h] {
						t.Fatalf("stored %x twice", h)
					}
					known[h] = true
				}
			case messages.PagesRemoved:
				for _, h := range e.Hashes {
					if !known[h] {
						t.Fatalf("removed %x, which was not there", h)
					}
					delete(known, h)
				}
			case messages.PagesCleared:
				clear(known)
			}
		}
		cached := 0
		for i := nodeIndex(1); i < m.tree.nodes.top; i++ {
			if n := m.tree.nodes.at(i); n.gen&1 == 1 && n.parent != none {
				cached += n.pages.len()
				if slices.ContainsFunc(m.tree.hashes.nodes[i], func(h uint64) bool { return !known[h] }) {
					t.Fatal("a cached page was not told of")
				}
			}
		}
		if cached != len(known) {
			t.Fatalf("%d pages cached, %d known", cached, len(known))
		}
	}
}
