package radix

import (
	"errors"
	"fmt"
	"slices"
	"testing"

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
		if err := tt.Check(); err != nil && !t.Failed() {
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

func TestEvictionInTheOrderOfUse(t *testing.T) {
	tt := newTreeTest(t, 1)
	tt.put("", 1, 2)
	tt.put("", 3, 4)
	tt.put("", 5, 6, 7)
	tt.get("", 1, 2) // now the newest
	tt.wantPages(tt.evict(2), 12, 13)
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
