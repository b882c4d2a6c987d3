package radix

import (
	"cmp"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// TestRanks has the keys of SGLang's eviction strategies: each list in the
// order of eviction.
func TestRanks(t *testing.T) {
	hit := func(hits uint32, use uint64) Usage { return Usage{Hits: hits, LastUse: use} }
	made := func(created uint64) Usage { return Usage{Created: created, LastUse: 100 - created} }
	for policy, order := range map[Policy][]Usage{
		LRU{}:      {hit(9, 1), hit(1, 2), hit(5, 3)},
		SLRU{}:     {hit(0, 2), hit(0, 10), hit(5, 11), hit(3, 18)},
		LFU{}:      {hit(1, 90), hit(100, 1), hit(100, 2)},
		MRU{}:      {hit(1, 3), hit(9, 2), hit(5, 1)},
		FIFO{}:     {made(1), made(2), made(9)},
		FILO{}:     {made(9), made(2), made(1)},
		Priority{}: {{Priority: -10, LastUse: 9}, {Priority: 0, LastUse: 1}, {Priority: 0, LastUse: 2}, {Priority: 500, LastUse: 1}},
	} {
		got := slices.Clone(order)
		slices.Reverse(got)
		slices.SortFunc(got, func(a, b Usage) int {
			x, y := policy.Rank(&a), policy.Rank(&b)
			return cmp.Or(cmp.Compare(x.Major, y.Major), cmp.Compare(x.Minor, y.Minor))
		})
		if !slices.Equal(got, order) {
			t.Errorf("%T: %+v, want %+v", policy, got, order)
		}
	}
	// One hit is the first segment, two are the second.
	one, two := hit(1, 0), hit(2, 0)
	if (SLRU{}).Rank(&one).Major != 0 || (SLRU{}).Rank(&two).Major != 1 {
		t.Error("the protected segment does not begin at two hits")
	}
}

// usage is that of the node that holds the last page of tokens.
func (t *treeTest) usage(tokens ...int32) Usage {
	cur := t.roots[""]
	for len(tokens) > 0 {
		child, k := t.Tree.next(cur, tokens)
		if child == none {
			t.Fatalf("%v is not cached", tokens)
		}
		cur, tokens = child, tokens[k*t.pageSize:]
	}
	return t.nodes.at(cur).usage
}

func TestOneAdmissionIsOneHit(t *testing.T) {
	tt := newTreeTest(t, 1)
	tt.put("", 1, 2, 3)
	hits := func(want uint32, tokens ...int32) {
		t.Helper()
		if got := tt.usage(tokens...).Hits; got != want {
			t.Fatalf("%v has %d hits, want %d\n%s", tokens, got, want, tt.Tree)
		}
	}
	hits(1, 1, 2, 3)
	for range 5 { // a candidate that waits is matched again and again
		tt.get("", 1, 2, 3)
	}
	hits(1, 1, 2, 3)
	a := tt.admit(1, 2, 3)
	a.insert(true)
	hits(2, 1, 2, 3)
	a.insert(true, 4) // its next chunks
	a.insert(true, 5, 6)
	hits(2, 1, 2, 3)
	b := tt.admit(1, 2, 3, 4, 5, 6)
	a.insert(false, 7)
	b.insert(false)
	hits(3, 1, 2, 3)
	hits(1, 1, 2, 3, 4, 5, 6, 7)
	known, _ := tt.put("", 1, 2, 3, 9) // computed without a match, it is a use
	if known != 3 {
		t.Fatalf("%d tokens known", known)
	}
	hits(4, 1, 2, 3)
	hits(1, 1, 2, 3, 9)
}

// TestUseWithoutInsertion: a request whose last page stayed partly filled has
// nothing to insert and is a hit all the same; a candidate that did not fit is
// none, however often it was matched.
func TestUseWithoutInsertion(t *testing.T) {
	core := New(Options{PageSize: 1})
	var out messages.Outbox
	var plan messages.PlanID
	lock := func(ids ...messages.RequestID) (nodes []messages.NodeID) {
		plan++
		m := &messages.LockPrefixes{Plan: plan}
		for _, id := range ids {
			m.Prefixes = append(m.Prefixes, messages.PrefixLock{ID: id, Tokens: []int32{1, 2, 3}, Limit: 2})
		}
		out.Reset()
		core.Handle(0, m, &out)
		for _, match := range out.Sends[0].Msg.(*messages.PrefixesLocked).Matches {
			nodes = append(nodes, match.Node)
		}
		return nodes
	}
	commit := func(m messages.CommitPlan) {
		m.Plan = plan
		core.Handle(0, &m, &out)
	}
	plan++
	commit(messages.CommitPlan{Inserts: []messages.PrefixInsert{{ID: 1, Tokens: []int32{1, 2}, Pages: []messages.Page{1, 2}}}})
	hits := func() uint32 { return core.tree.nodes.at(2).usage.Hits }
	for range 3 {
		commit(messages.CommitPlan{Unlocks: lock(2)})
	}
	if hits() != 1 {
		t.Fatalf("%d hits by a candidate that never fits", hits())
	}
	nodes := lock(2, 3) // 3 is admitted, 2 is not, and has the same node
	commit(messages.CommitPlan{Unlocks: nodes[:1]})
	if hits() != 1 {
		t.Fatalf("%d hits before anybody is done", hits())
	}
	plan++
	commit(messages.CommitPlan{Unlocks: nodes[1:]})
	if hits() != 2 || core.tree.Protected() != 0 {
		t.Fatalf("%d hits after one request ended, %d pages protected", hits(), core.tree.Protected())
	}
}

func TestPriorityGoesUpThePath(t *testing.T) {
	tt := newTreeTest(t, 1)
	put := func(priority int32, tokens ...int32) {
		tt.Insert(messages.PrefixInsert{Tokens: tokens, Pages: tt.fresh(len(tokens)), Priority: priority}, nil)
	}
	put(1, 1, 2, 3)
	put(7, 1, 2, 4)
	put(3, 1, 2, 4, 5)
	tt.get("", 1) // a split copies
	for _, tc := range []struct {
		want   int32
		tokens []int32
	}{{7, []int32{1}}, {7, []int32{1, 2}}, {1, []int32{1, 2, 3}}, {7, []int32{1, 2, 4}}, {3, []int32{1, 2, 4, 5}}} {
		if got := tt.usage(tc.tokens...).Priority; got != tc.want {
			t.Errorf("%v has priority %d, want %d", tc.tokens, got, tc.want)
		}
	}
}

func TestHistoryOutlivesEviction(t *testing.T) {
	tt := &treeTest{T: t, Tree: NewTree(TreeOptions{PageSize: 1, Policy: LFU{}, History: 4}), next: 10}
	use := func(tokens ...int32) {
		node, pages := tt.Lock("", tokens, len(tokens), nil)
		tt.Insert(messages.PrefixInsert{Tokens: tokens, Pages: append(pages, tt.fresh(len(tokens)-len(pages))...), Owned: len(pages), Node: node}, nil)
	}
	use(1, 2, 3)
	use(1, 2)
	use(1, 2)
	tt.evict(3)
	tt.wantCounts(0, 0, 0)
	use(1, 2, 3, 4) // 1 and 2 had three uses, 3 one, 4 none: three nodes
	tt.wantCounts(4, 0, 3)
	for want, tokens := range map[uint32][]int32{4: {1, 2}, 2: {1, 2, 3}, 1: {1, 2, 3, 4}} {
		if got := tt.usage(tokens...).Hits; got != want {
			t.Errorf("%v has %d hits, want %d", tokens, got, want)
		}
	}
	tt.wantPages(tt.evict(1), 16)
	if err := tt.Check(); err != nil {
		t.Fatal(err)
	}
	use(7, 8, 9, 10) // four more evictions than are remembered
	tt.evict(4)
	use(5, 6)
	tt.evict(2)
	if n := len(tt.history.pages); n != 4 || len(tt.history.order) != 4 {
		t.Fatalf("%d pages remembered in %d places", n, len(tt.history.order))
	}
}

// TestLearnerHearsOfEveryPage: pages are added once and hit once per request.
func TestLearnerHearsOfEveryPage(t *testing.T) {
	policy := &agingClasses{}
	tt := &treeTest{T: t, Tree: NewTree(TreeOptions{PageSize: 1, Policy: policy}), next: 10}
	tt.put("", 1, 2, 3, 4)
	tt.put("", 1, 2, 5) // hits 1 and 2
	a := tt.admit(1, 2, 3, 4)
	a.insert(true, 6) // hits four, brings one
	a.insert(false, 7, 8)
	if policy.added != 4+1+1+2 || policy.hit != 2+4 {
		t.Fatalf("counted %d pages added and %d hit", policy.added, policy.hit)
	}
	// Part of the new pages goes elsewhere because some of them are remembered.
	other := &agingClasses{}
	tt = &treeTest{T: t, Tree: NewTree(TreeOptions{PageSize: 1, Policy: other, History: 10}), next: 100}
	tt.put("", 1, 2, 3)
	tt.put("", 1, 2, 3)
	tt.evict(1)
	tt.EvictAll(nil)
	tt.put("", 1)
	*other = agingClasses{}
	b := tt.admit(1)
	b.insert(true, 2, 9)
	b.insert(false, 8)
	// The leaf that has grown by 2 is counted as a whole.
	if other.added != 3 || other.hit != 2 {
		t.Fatalf("counted %d pages added and %d hit", other.added, other.hit)
	}
}

func TestCoresHavePoliciesOfTheirOwn(t *testing.T) {
	opts := Options{PageSize: 1, Policy: func() Policy { return &agingClasses{} }}
	a, b := New(opts), New(opts)
	if a.tree.leaves.policy == b.tree.leaves.policy {
		t.Error("two cores share a policy")
	}
	if core := New(Options{PageSize: 1}); core.tree.leaves.policy != (LRU{}) {
		t.Errorf("the default is %T", core.tree.leaves.policy)
	}
}
