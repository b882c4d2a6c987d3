package radix

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/messages"
)

// notebookTree draws a tree of one namespace as the notebook does, children in
// the order of their tokens, slots from 0 on. id numbers the nodes.
func notebookTree(t *Tree, id map[nodeIndex]int) string {
	below := map[nodeIndex][]nodeIndex{}
	for i := nodeIndex(1); i < t.nodes.top; i++ {
		if n := t.nodes.at(i); n.gen&1 == 1 && n.parent != none {
			below[n.parent] = append(below[n.parent], i)
		}
	}
	var b strings.Builder
	var draw func(i nodeIndex, indent string)
	draw = func(i nodeIndex, indent string) {
		slices.SortFunc(below[i], func(x, y nodeIndex) int { return int(t.nodes.at(x).tokens[0] - t.nodes.at(y).tokens[0]) })
		for _, child := range below[i] {
			n := t.nodes.at(child)
			zero := n.pages.appendTo(nil)
			for j := range zero {
				zero[j]--
			}
			fmt.Fprintf(&b, "%suuid=%d, tokens=%v, slots=%v, ref=%d\n", indent, id[child], n.tokens, zero, n.locks)
			draw(child, indent+"  ")
		}
	}
	draw(t.roots[""], "")
	return b.String()
}

// TestNotebookEviction is the notebook's tree: a node is split, a lock taken and
// given back. The notebook's evict(3) removes nodes 1 and 3, four slots; here
// exactly three come back, and node 3 keeps one of its two.
func TestNotebookEviction(t *testing.T) {
	tree := NewTree(TreeOptions{PageSize: 1})
	insert := func(node messages.NodeID, owned int, tokens []int32, slots ...messages.Page) {
		for i := range slots {
			slots[i]++
		}
		tree.Insert(messages.PrefixInsert{Tokens: tokens, Pages: slots, Owned: owned, Node: node}, nil)
	}
	id := map[nodeIndex]int{2: 1, 3: 2, 4: 3} // node 1 is the root, the notebook's 0
	want := func(what, text string) {
		t.Helper()
		if got := notebookTree(tree, id); got != text {
			t.Fatalf("%s\n%swant\n%s", what, got, text)
		}
	}
	insert(messages.RootNode, 0, []int32{1, 3, 6, 7, 9, 77}, 0, 1, 2, 3, 4, 7)
	want("first request", "uuid=1, tokens=[1 3 6 7 9 77], slots=[0 1 2 3 4 7], ref=0\n")
	tokens := []int32{1, 3, 6, 7, 87, 66}
	node, prefix := tree.Lock("", tokens, len(tokens), nil)
	insert(node, len(prefix), tokens, 0, 1, 2, 3, 5, 6)
	const grown = `uuid=2, tokens=[1 3 6 7], slots=[0 1 2 3], ref=%d
  uuid=1, tokens=[9 77], slots=[4 7], ref=0
  uuid=3, tokens=[87 66], slots=[5 6], ref=0
`
	want("second request", fmt.Sprintf(grown, 0))
	node, _ = tree.Lock("", []int32{1, 3, 6, 7}, 4, nil)
	want("locked", fmt.Sprintf(grown, 1))
	tree.Unlock(node)
	want("unlocked", fmt.Sprintf(grown, 0))

	if freed, err := tree.Evict(0, nil); err != nil || len(freed) > 0 {
		t.Fatalf("evict(0): %v, %v", freed, err)
	}
	if freed, err := tree.Evict(9, nil); err == nil || err.Error() != "cannot evict 9 pages: only 8 are evictable" || len(freed) > 0 {
		t.Fatalf("evict(9): %v, %v", freed, err)
	}
	want("nothing evicted", fmt.Sprintf(grown, 0))
	freed, err := tree.Evict(3, nil)
	if got := pagesOf(freed); err != nil || !slices.Equal(got, []messages.Page{5, 8, 7}) { // slots 4, 7, 6
		t.Fatalf("evict(3): pages %v, %v", got, err)
	}
	want("node 3 is shorter", "uuid=2, tokens=[1 3 6 7], slots=[0 1 2 3], ref=0\n  uuid=3, tokens=[87], slots=[5], ref=0\n")
}

// TestArticleRequestABC is the life of a request in the scheduler article: AFG
// is split by ABC, which gets slots for B and C in prefill, for D in decode, and
// ends; E is sampled last and has no KV.
func TestArticleRequestABC(t *testing.T) {
	const a, b, c, d, f, g = 'A', 'B', 'C', 'D', 'F', 'G'
	tree, alloc := NewTree(TreeOptions{PageSize: 1}), pages.NewAllocator(20)
	want := func(when, text string) {
		t.Helper()
		var got []string
		for i := nodeIndex(1); i < tree.nodes.top; i++ {
			if n := tree.nodes.at(i); n.gen&1 == 1 && n.parent != none {
				letters := ""
				for _, token := range n.tokens {
					letters += string(rune(token))
				}
				got = append(got, fmt.Sprintf("%s%d", letters, n.locks))
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != text {
			t.Fatalf("%s: nodes and locks %v, want %s", when, got, text)
		}
	}
	pages, _ := alloc.Alloc(3, nil)
	tree.Insert(messages.PrefixInsert{Tokens: []int32{a, f, g}, Pages: pages}, nil)
	want("before", "AFG0")

	node, pages := tree.Lock("", []int32{a, b, c}, 2, nil)
	want("matched", "A1 FG0")
	pages, _ = alloc.Alloc(2, pages)
	if len(pages) != 3 || alloc.Free() != 15 {
		t.Fatalf("prefill holds %v", pages)
	}
	out, _ := tree.Insert(messages.PrefixInsert{Tokens: []int32{a, b, c}, Pages: pages, Owned: 1, Node: node, Keep: true}, nil)
	want("after prefill", "A1 BC1 FG0")

	pages, _ = alloc.Alloc(1, pages) // for D
	_, freed := tree.Insert(messages.PrefixInsert{Tokens: []int32{a, b, c, d}, Pages: pages, Owned: 3, Node: out.Node}, nil)
	want("at the end", "A0 BCD0 FG0")
	if len(freed) != 0 || alloc.Free() != 14 || tree.Evictable() != 6 {
		t.Fatalf("freed %v, %d free, %d evictable", freed, alloc.Free(), tree.Evictable())
	}

	// With a second holder the leaf stays as it is and gets a child.
	_, pages = tree.Lock("", []int32{a, b, c, d}, 4, nil)
	node, pages = tree.Lock("", []int32{a, b, c, d}, 4, pages[:0])
	pages, _ = alloc.Alloc(1, pages)
	tree.Insert(messages.PrefixInsert{Tokens: []int32{a, b, c, d, g}, Pages: pages, Owned: 4, Node: node, Keep: true}, nil)
	want("two holders", "A2 BCD2 FG0 G1")
}
