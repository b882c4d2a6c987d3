package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	printedNodes  = 200
	printedTokens = 8
)

// String draws the tree for a person, children in the order of their tokens:
// at most 200 nodes and 8 tokens of each. It walks the whole tree.
func (t *Tree) String() string {
	below := map[slot][]slot{}
	for i := slot(1); i < t.nodes.top; i++ {
		if n := t.nodes.at(i); n.gen&1 == 1 && n.parent != none {
			below[n.parent] = append(below[n.parent], i)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, %d pages of %d tokens evictable, %d protected\n", t.count, t.evictable, t.pageSize, t.protected)
	names := make([]string, 0, len(t.roots))
	for name := range t.roots {
		names = append(names, name)
	}
	slices.Sort(names)
	left := printedNodes
	for _, name := range names {
		if left == 0 {
			break
		}
		fmt.Fprintf(&b, "namespace %q\n", name)
		left = t.print(&b, below, t.roots[name], 1, left)
	}
	if hidden := t.count - (printedNodes - left); hidden > 0 {
		fmt.Fprintf(&b, "… and %d more nodes\n", hidden)
	}
	return b.String()
}

// print draws what is below a node, left nodes at most, and returns how many
// it might still draw.
func (t *Tree) print(b *strings.Builder, below map[slot][]slot, i slot, depth, left int) int {
	slices.SortFunc(below[i], func(x, y slot) int {
		return slices.CompareFunc(t.nodes.at(x).tokens[:t.pageSize], t.nodes.at(y).tokens[:t.pageSize], cmp.Compare)
	})
	for _, child := range below[i] {
		if left == 0 {
			return 0
		}
		n := t.nodes.at(child)
		fmt.Fprintf(b, "%s%d pages from %d, locks %d, used at %d: %s\n", strings.Repeat("  ", depth),
			len(n.pages), n.pages[0], n.locks, n.usage.LastUse, brief(n.tokens))
		left = t.print(b, below, child, depth+1, left-1)
	}
	return left
}

func brief(tokens []int32) string {
	words := make([]string, 0, printedTokens+1)
	for _, token := range tokens[:min(len(tokens), printedTokens)] {
		words = append(words, fmt.Sprint(token))
	}
	if len(tokens) > printedTokens {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}
