package radix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// A view keeps to its bounds and says what it leaves out.
func TestTreeViewBounds(t *testing.T) {
	tt := newTreeTest(t, 1)
	for depth := int32(1); depth <= 20; depth++ {
		path := make([]int32, depth, depth+1)
		for i := range path {
			path[i] = int32(i) + 1
		}
		tt.put("", append(path, 100)...)
	}
	count := func(v View) (nodes, hidden, deepest int) {
		var walk func(all []NodeView, depth int)
		walk = func(all []NodeView, depth int) {
			for _, n := range all {
				nodes, hidden, deepest = nodes+1, hidden+n.Below, max(deepest, depth)
				walk(n.Children, depth+1)
			}
		}
		walk(v.Namespaces[0].Children, 1)
		return nodes, hidden, deepest
	}
	if nodes, hidden, deepest := count(tt.View(messages.CacheLimits{Depth: 3})); deepest != 3 || nodes != 5 || hidden != 2 {
		t.Errorf("%d nodes to depth %d, %d children hidden", nodes, deepest, hidden)
	}
	v := tt.View(messages.CacheLimits{Nodes: 7, Depth: 100, Tokens: 1})
	if nodes, _, _ := count(v); nodes != 7 || v.Hidden != tt.Nodes()-7 {
		t.Errorf("%d nodes shown, %d hidden, of %d", nodes, v.Hidden, tt.Nodes())
	}
	if all := tt.View(messages.CacheLimits{Nodes: 1000, Depth: 1000}); all.Hidden != 0 || strings.Contains(all.Text(false), "…") {
		t.Errorf("a view without bounds hides %d:\n%s", all.Hidden, all.Text(false))
	}
	if empty := NewTree(TreeOptions{PageSize: 1}).View(messages.CacheLimits{}); empty.Nodes != 0 || empty.Text(true) != "" {
		t.Errorf("an empty tree: %+v", empty)
	}
}

// bigTree has at least nodes nodes: in each of two namespaces 7 with many leaves.
func bigTree(nodes int) *Tree {
	t := NewTree(TreeOptions{PageSize: 1})
	page := messages.Page(1)
	insert := func(ns string, tokens ...int32) {
		node, pages := t.Lock(ns, tokens, len(tokens), nil)
		owned := len(pages)
		for len(pages) < len(tokens) {
			pages = append(pages, page)
			page++
		}
		t.Insert(messages.PrefixInsert{Namespace: ns, Node: node, Tokens: tokens, Pages: pages, Owned: owned}, nil)
	}
	for i := int32(0); t.Nodes() < nodes; i++ {
		insert(strings.Repeat("x", int(i%2)), i%7, i)
	}
	return t
}

// A view looks at a bounded number of nodes, however big the tree is, and finds
// those that are left after most have gone.
func TestTreeViewLooksAreBounded(t *testing.T) {
	tree := bigTree(3 * viewLooks)
	v := tree.newViewer(messages.CacheLimits{})
	if worked := viewLooks - v.looks; worked < viewLooks || worked > viewLooks+viewDepth || len(v.next) > viewLooks {
		t.Errorf("%d looks and %d nodes found, at most %d are allowed", worked, len(v.next), viewLooks)
	}
	view := tree.View(messages.CacheLimits{Nodes: 1000, Depth: 1000})
	if view.Nodes != tree.Nodes() || view.Hidden != tree.Nodes()-1000 {
		t.Errorf("%d nodes, %d hidden", view.Nodes, view.Hidden)
	}
	_, err := tree.Evict(tree.Evictable()-5, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rest := tree.View(messages.CacheLimits{}); rest.Hidden != 0 || rest.Nodes != tree.Nodes() || rest.Nodes == 0 {
		t.Errorf("%d nodes are left, %d of them hidden", rest.Nodes, rest.Hidden)
	}
}

func BenchmarkTreeView(b *testing.B) {
	for _, nodes := range []int{1000, 1_000_000} {
		tree := bigTree(nodes)
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			for b.Loop() {
				tree.View(messages.CacheLimits{})
			}
		})
	}
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
