package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// treeTest is a tree with fresh page numbers for what is put into it.
type treeTest struct {
	*testing.T
	*Tree
	next messages.Page
}

func newTreeTest(t *testing.T, pageSize int) *treeTest {
	tt := &treeTest{T: t, Tree: NewTree(TreeOptions{PageSize: pageSize}), next: 10}
	t.Cleanup(func() {
		if err := tt.checkInvariants(); err != nil && !t.Failed() {
			t.Errorf("invariant %v\n%s", err, tt.Tree)
		}
	})
	return tt
}

func (t *treeTest) fresh(n int) []messages.Page {
	pages := make([]messages.Page, n)
	for i := range pages {
		pages[i] = t.next
		t.next++
	}
	return pages
}

// put inserts tokens, whole pages, with pages of their own and keeps nothing.
// It returns how many tokens were there before and the pages given.
func (t *treeTest) put(ns string, tokens ...int32) (known int, pages []messages.Page) {
	pages = t.fresh(len(tokens) / t.pageSize)
	_, freed := t.Insert(messages.PrefixInsert{Namespace: ns, Tokens: tokens, Pages: pages}, nil)
	return len(freed) * t.pageSize, pages
}

// get matches tokens and unlocks again.
func (t *treeTest) get(ns string, tokens ...int32) []messages.Page {
	node, pages := t.Lock(ns, tokens, len(tokens), nil)
	t.Unlock(node)
	return pages
}

func (t *treeTest) evict(n int, freed ...messages.Page) []messages.Page {
	t.Helper()
	runs, err := t.Evict(n, longestRuns(freed))
	if err != nil {
		t.Fatal(err)
	}
	return pagesOf(runs)
}

func (t *treeTest) wantCounts(evictable, protected, nodes int) {
	t.Helper()
	if t.Evictable() != evictable || t.Protected() != protected || t.Nodes() != nodes {
		t.Fatalf("%d evictable, %d protected pages, %d nodes; want %d, %d, %d\n%s",
			t.Evictable(), t.Protected(), t.Nodes(), evictable, protected, nodes, t.Tree)
	}
}

func (t *treeTest) wantPages(got []messages.Page, want ...messages.Page) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("pages %v, want %v\n%s", got, want, t.Tree)
	}
}

func TestInsertAndMatch(t *testing.T) {
	tt := newTreeTest(t, 1)
	if known, _ := tt.put("", 1, 2, 3); known != 0 {
		t.Fatalf("%d tokens known to an empty tree", known)
	}
	tt.wantCounts(3, 0, 1)
	tt.wantPages(tt.get("", 1, 2, 3), 10, 11, 12)
	tt.wantCounts(3, 0, 1)
	tt.wantPages(tt.get("", 1, 2), 10, 11)
	tt.wantCounts(3, 0, 2)
	tt.wantPages(tt.get("", 2, 3))
	tt.put("", 4, 5)
	tt.wantCounts(5, 0, 3)
	if known, _ := tt.put("", 1, 2, 3, 4); known != 3 {
		t.Fatalf("%d tokens known, want 3", known)
	}
	tt.wantPages(tt.get("", 1, 2, 3, 4), 10, 11, 12, 18)
	if freed := pagesOf(tt.EvictAll(nil)); len(freed) != 6 {
		t.Fatalf("evicted %d pages, want 6", len(freed))
	}
	tt.wantCounts(0, 0, 0)
	if len(tt.roots)+len(tt.names) != 0 {
		t.Fatalf("%d namespaces are left", len(tt.roots))
	}
}

func TestMatchSplitsAtPages(t *testing.T) {
	for _, size := range []int{1, 2} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			tt := newTreeTest(t, size)
			_, first := tt.put("", 1, 2, 3, 4, 5, 6, 7, 8)
			known, second := tt.put("", 1, 2, 9, 10)
			if known != 2 {
				t.Fatalf("%d tokens known, want 2", known)
			}
			total := 10 / size
			tt.wantCounts(total, 0, 3)
			tt.wantPages(tt.get("", 1, 2, 3, 4, 999, 1000), first[:4/size]...)
			tt.wantCounts(total, 0, 4)
			tt.wantPages(tt.get("", 1, 2, 3, 4, 5, 6, 7, 8), first...)
			tt.wantPages(tt.get("", 1, 2, 3, 4, 5, 6, 777, 888), first[:6/size]...)
			tt.wantPages(tt.get("", 1, 2, 9, 10), slices.Concat(first[:2/size], second[2/size:])...)
			tt.wantCounts(total, 0, 5)
		})
	}
}

func TestMatchIsWholePagesUpToTheLimit(t *testing.T) {
	for _, tc := range []struct{ size, tokens, limit, want int }{
		{1, 5, 5, 5}, {1, 5, 4, 4}, {1, 5, 0, 0}, {2, 5, 5, 4}, {2, 5, 3, 2}, {4, 6, 6, 4}, {4, 8, 7, 4}, {8, 8, 7, 0}, {64, 200, 199, 192},
	} {
		tt := newTreeTest(t, tc.size)
		tokens := make([]int32, tc.tokens)
		for i := range tokens {
			tokens[i] = int32(i)
		}
		tt.put("", tokens[:tc.tokens/tc.size*tc.size]...)
		if got := tt.Peek("", tokens[:tc.limit]); got != tc.want {
			t.Errorf("%+v: peeked %d", tc, got)
		}
		node, pages := tt.Lock("", tokens, tc.limit, nil)
		if len(pages)*tc.size != tc.want || tt.Protected()*tc.size != tc.want || (node == messages.RootNode) != (tc.want == 0) {
			t.Errorf("%+v: matched %d pages, protected %d", tc, len(pages), tt.Protected())
		}
	}
}

func TestNamespacesShareNothing(t *testing.T) {
	tt := newTreeTest(t, 2)
	pages := map[string][]messages.Page{}
	for _, ns := range []string{"key1", "key2", ""} {
		known, p := tt.put(ns, 1, 2, 3, 4)
		if known != 0 {
			t.Fatalf("%q knew %d tokens", ns, known)
		}
		pages[ns] = p
	}
	for ns, want := range pages {
		tt.wantPages(tt.get(ns, 1, 2, 3, 4), want...)
	}
	tt.wantPages(tt.get("key3", 1, 2, 3, 4))
	tt.wantCounts(6, 0, 3)
}

func TestLockProtectsThePath(t *testing.T) {
	tt := newTreeTest(t, 1)
	tt.put("", 1, 2, 3)
	a, _ := tt.Lock("", []int32{1, 2, 3}, 3, nil)
	tt.wantCounts(0, 3, 1)
	b, _ := tt.Lock("", []int32{1, 2, 7}, 3, nil)
	tt.wantCounts(0, 3, 2)
	tt.Unlock(a)
	tt.wantCounts(1, 2, 2)
	var refused *EvictionRefused
	if freed, err := tt.Evict(3, nil); len(freed) != 0 || !errors.As(err, &refused) || *refused != (EvictionRefused{Wanted: 3, Evictable: 1}) {
		t.Fatalf("evicted %v under a lock: %v", freed, err)
	}
	tt.wantPages(tt.evict(1), 12)
	tt.Unlock(b)
	tt.wantCounts(2, 0, 1)
}

func TestEvictionOfWholeNodes(t *testing.T) {
	tt := newTreeTest(t, 1)
	tt.wholeNodes = true
	tt.put("", 1, 2)
	tt.put("", 3, 4)
	tt.put("", 5, 6, 7)
	tt.get("", 1, 2) // now the newest
	tt.wantPages(tt.evict(1), 12, 13)
	tt.wantPages(tt.evict(0))
	tt.wantPages(tt.evict(3, 99), 99, 14, 15, 16)
	tt.put("", 1, 2, 8)
	// The leaf goes before its parent, though both were used together.
	tt.wantPages(tt.evict(1), 19)
	tt.wantPages(tt.evict(2), 10, 11)
	tt.wantCounts(0, 0, 0)
}

func TestEvictionIsExactToThePage(t *testing.T) {
	tt := newTreeTest(t, 2)
	tt.put("", 1, 2, 3, 4, 5, 6, 7, 8) // 10..13
	tt.put("", 1, 2, 9, 9)             // 14 is a duplicate, 15
	tt.wantPages(tt.evict(1), 13)
	tt.wantPages(tt.get("", 1, 2, 3, 4, 5, 6, 7, 8), 10, 11, 12) // the newest now
	tt.wantPages(tt.evict(2), 15, 12)
	tt.wantCounts(2, 0, 2)
	if known, _ := tt.put("", 1, 2, 3, 4, 5, 6); known != 4 { // 16, 17 are duplicates
		t.Fatalf("%d tokens known after the eviction", known)
	}
	tt.wantPages(tt.get("", 1, 2, 3, 4, 5, 6), 10, 11, 18)
	tt.wantPages(tt.evict(3), 18, 11, 10)
	tt.wantCounts(0, 0, 0)
}

// request is a user of the tree, as the batch former is.
type request struct {
	*treeTest
	node   messages.NodeID
	tokens []int32
	pages  []messages.Page
	owned  int
}

func (t *treeTest) admit(tokens ...int32) *request {
	r := &request{treeTest: t, tokens: tokens}
	r.node, r.pages = t.Lock("", tokens, len(tokens), nil)
	r.owned = len(r.pages)
	r.pages = append(r.pages, t.fresh(len(tokens)/t.pageSize-r.owned)...)
	return r
}

func (r *request) insert(keep bool, more ...int32) (out messages.PrefixInserted, freed []messages.Page) {
	r.tokens = append(slices.Clone(r.tokens), more...)
	r.pages = append(r.pages, r.fresh(len(more)/r.pageSize)...)
	out, freed = r.Insert(messages.PrefixInsert{
		ID: 1, Tokens: r.tokens, Pages: slices.Clone(r.pages), Owned: r.owned, Node: r.node, Keep: keep,
	}, nil)
	copy(r.pages[out.First:], out.Pages)
	r.node, r.owned = out.Node, len(r.pages)
	return out, freed
}

func TestTwoRequestsInsertTheSame(t *testing.T) {
	tt := newTreeTest(t, 2)
	a, b := tt.admit(1, 2, 3, 4), tt.admit(1, 2, 3, 4)
	outA, freedA := a.insert(true)
	outB, freedB := b.insert(true)
	tt.wantPages(freedA)
	tt.wantPages(outA.Pages)
	tt.wantPages(freedB, 12, 13)
	tt.wantPages(outB.Pages, 10, 11)
	if outB.First != 0 || outB.Node != outA.Node {
		t.Fatalf("outcome %+v", outB)
	}
	tt.wantCounts(0, 2, 1)
	b.insert(false)
	tt.wantCounts(0, 2, 1)
	a.insert(false)
	tt.wantCounts(2, 0, 1)
}

func TestInsertMeetsOthersInTheMiddleOfANode(t *testing.T) {
	tt := newTreeTest(t, 1)
	tt.put("", 1, 2, 3, 4, 5) // 10..14
	a := tt.admit(1, 2)       // splits behind 2
	tt.put("", 1, 2, 3, 7)    // splits behind 3; 15.. are duplicates, 18 is 7
	out, freed := a.insert(true, 3, 4, 9)
	tt.wantPages(freed, 19, 20)
	tt.wantPages(out.Pages, 12, 13)
	if out.First != 2 {
		t.Fatalf("replaced from page %d on", out.First)
	}
	tt.wantPages(a.pages, 10, 11, 12, 13, 21)
	tt.wantCounts(2, 5, 6) // 7 and 5 are unlocked
}

func TestHandleSurvivesSplits(t *testing.T) {
	tt := newTreeTest(t, 1)
	a := tt.admit(1, 2, 3, 4)
	a.insert(true)
	id := a.node
	b := tt.admit(1, 2)
	c := tt.admit(1, 2, 3)
	tt.wantCounts(0, 4, 3)
	out, _ := a.insert(true)
	if out.Node != id {
		t.Fatalf("handle changed from %#x to %#x", id, out.Node)
	}
	tt.Unlock(id)
	tt.wantCounts(1, 3, 3)
	tt.Unlock(c.node)
	tt.wantCounts(2, 2, 3)
	tt.Unlock(b.node)
	tt.wantCounts(4, 0, 3)
}

func TestLeafGrowsInPlaceForItsOnlyHolder(t *testing.T) {
	tt := newTreeTest(t, 1)
	a := tt.admit(1, 2, 3)
	a.insert(true)
	id := a.node
	for token := int32(4); token < 40; token++ {
		a.insert(true, token)
	}
	tt.wantCounts(0, 39, 1)
	if a.node != id {
		t.Fatal("the handle changed")
	}
	b := tt.admit(a.tokens...)
	a.insert(true, 100) // b holds it, too
	tt.wantCounts(0, 40, 2)
	if b.node|counted != id || a.node == id {
		t.Fatal("a leaf with two holders grew")
	}
	a.insert(false)
	b.insert(true, 200) // it has a child
	tt.wantCounts(1, 40, 3)
	b.insert(false, 201)
	tt.wantCounts(42, 0, 3)
}

func TestInsertOfNothingNew(t *testing.T) {
	tt := newTreeTest(t, 4)
	out, freed := tt.Insert(messages.PrefixInsert{ID: 5, Keep: true}, nil)
	if out.ID != 5 || out.Node != messages.RootNode || len(freed)+len(out.Pages) > 0 || len(tt.roots) > 0 {
		t.Fatalf("outcome %+v, freed %v", out, freed)
	}
	tt.put("", 1, 2, 3, 4)
	a := tt.admit(1, 2, 3, 4)
	id := a.node
	if out, freed := a.insert(true); out.Node != id|counted || len(freed) > 0 {
		t.Fatalf("outcome %+v, freed %v", out, freed)
	}
	tt.wantCounts(0, 1, 1)
	if out, freed := a.insert(false); out.Node != messages.RootNode || len(freed) > 0 {
		t.Fatalf("outcome %+v, freed %v", out, freed)
	}
	tt.wantCounts(1, 0, 1)
}

// mustViolate runs f and returns the violation that it must end in.
func mustViolate(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		v, ok := recover().(invariants.Violation)
		if !ok || !strings.Contains(v.What, what) {
			t.Errorf("violation %q, want %q", v.What, what)
		}
	}()
	f()
}

func TestTreeViolations(t *testing.T) {
	insert := func(in messages.PrefixInsert) func(*treeTest, messages.NodeID) {
		return func(tt *treeTest, node messages.NodeID) {
			if in.Node != messages.RootNode {
				in.Node = node
			}
			tt.Insert(in, nil)
		}
	}
	const held = 1 // stands for the held node
	tests := []struct {
		what string
		f    func(*treeTest, messages.NodeID)
	}{
		{"is not locked", func(tt *treeTest, n messages.NodeID) { tt.Unlock(n); tt.Unlock(n) }},
		{"is not locked", func(tt *treeTest, n messages.NodeID) { tt.Unlock(n); tt.EvictAll(nil); tt.put("", 1, 2); tt.Unlock(n) }},
		{"is not locked", func(tt *treeTest, _ messages.NodeID) { tt.Unlock(1 << 40) }},
		{"match limit 3 of 2 tokens", func(tt *treeTest, _ messages.NodeID) { tt.Lock("", []int32{1, 2}, 3, nil) }},
		{"inserts 3 tokens on 2 pages", insert(messages.PrefixInsert{Tokens: []int32{1, 2, 3}, Pages: []messages.Page{5, 6}})},
		{"2 of them owned", insert(messages.PrefixInsert{Tokens: []int32{1}, Pages: []messages.Page{5}, Owned: 2})},
		{"owns 1 pages through no node", insert(messages.PrefixInsert{Tokens: []int32{1}, Pages: []messages.Page{5}, Owned: 1})},
		{"through a node at depth 2", insert(messages.PrefixInsert{Tokens: []int32{1, 2}, Pages: []messages.Page{10, 11}, Owned: 1, Node: held})},
		{"another namespace", insert(messages.PrefixInsert{Namespace: "x", Tokens: []int32{1, 2}, Pages: []messages.Page{10, 11}, Owned: 2, Node: held})},
		{"which the tree has already", insert(messages.PrefixInsert{Tokens: []int32{1, 2}, Pages: []messages.Page{50, 11}})},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			x := &treeTest{T: t, Tree: NewTree(TreeOptions{PageSize: 1}), next: 10}
			x.put("", 1, 2)
			node, _ := x.Lock("", []int32{1, 2}, 2, nil)
			mustViolate(t, tt.what, func() { tt.f(x, node) })
		})
	}
	mustViolate(t, "page size 3", func() { NewTree(TreeOptions{PageSize: 3}) })
}

func TestTreeString(t *testing.T) {
	tt := newTreeTest(t, 2)
	tt.put("", 1, 2, 3, 4)
	tt.put("salt", 9, 9, 1, 1, 2, 2, 3, 3, 4, 4)
	a := tt.admit(1, 2, 5, 6)
	a.insert(true)
	want := `4 nodes, 6 pages of 2 tokens evictable, 2 protected
Root Node:
└── uuid=0, ref=1 [R]
    └── uuid=4, tokens=[1, 2], slots=[20, 21], ref=1, age=0, hits=2
        ├── uuid=1, tokens=[3, 4], slots=[22, 23], ref=0, age=2, hits=1 [L]
        └── uuid=5, tokens=[5, 6], slots=[34, 35], ref=1, age=0, hits=1 [L]
Root Node of namespace "salt":
└── uuid=2, ref=1 [R]
    └── uuid=3, tokens=[9, 9, 1, 1, 2, 2, 3, 3, … 10], slots=[24, 25, 26, 27, 28, 29, 30, 31, … 10], ref=0, age=1, hits=1 [L]
`
	if got := tt.String(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	for token := int32(100); token < 400; token++ {
		tt.put("", token, token)
	}
	// Two heads, a root, 200 nodes, siblings left out, and the sum.
	lines := strings.Split(strings.TrimSpace(tt.String()), "\n")
	if len(lines) != 3+viewNodes+2 || lines[len(lines)-2] != "    └── … 103 more" || lines[len(lines)-1] != "… and 104 more nodes" {
		t.Errorf("%d lines, the last ones %q", len(lines), lines[len(lines)-2:])
	}
}
