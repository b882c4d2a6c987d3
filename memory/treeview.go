package memory

import (
	"cmp"
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// ViewOptions bound a view of the tree.
type ViewOptions struct {
	// Depth is how many levels below a root are shown; 0 means 10.
	Depth int
	// Nodes is how many nodes are shown in all; 0 means 200.
	Nodes int
	// Tokens is how many tokens and slots of a node are shown; 0 means 8.
	Tokens int
	// Base is the slot that is called 0: 0 shows slots as the device counts
	// them, the page size those of the pool without its padding page.
	Base int
}

// Defaults of ViewOptions.
const (
	viewDepth  = 10
	viewNodes  = 200
	viewTokens = 8
)

// TreeView is what a person may see of a tree: a part of it if it is big. Its
// slices are the receiver's.
type TreeView struct {
	PageSize   int             `json:"page_size"`
	Nodes      int             `json:"nodes"`           // without roots, shown or not
	Evictable  int             `json:"evictable_pages"` // the whole tree
	Protected  int             `json:"protected_pages"`
	Tick       uint64          `json:"tick"`         // insertions and unlocks so far
	Hidden     int             `json:"hidden_nodes"` // not shown
	Namespaces []NamespaceView `json:"namespaces"`   // by name
}

// NamespaceView is the tree of a namespace.
type NamespaceView struct {
	Name     string     `json:"name"`
	Number   int        `json:"number"`          // of the root; see NodeView
	Below    int        `json:"children_hidden"` // children that are not shown
	Children []NodeView `json:"children"`
}

// NodeView is a node, in the order of the first page of tokens among its
// siblings.
type NodeView struct {
	// Number is unique among the nodes that are there. The first is 0, a split
	// numbers the upper part anew; a number is used again after its node went.
	Number   int        `json:"number"`
	Length   int        `json:"length"`          // tokens
	Tokens   []int32    `json:"tokens"`          // the first of them
	Slots    []int      `json:"slots"`           // of these tokens, less ViewOptions.Base
	Locks    int        `json:"locks"`           // handles whose path goes through here
	Age      uint64     `json:"age"`             // ticks since the last use
	Hits     uint32     `json:"hits"`            // requests that used it, the first included
	Below    int        `json:"children_hidden"` // children that are not shown
	Children []NodeView `json:"children,omitempty"`
}

// viewer walks a tree. Children are not linked from their parents, so it finds
// them all in one pass over the nodes.
type viewer struct {
	t           *Tree
	opts        ViewOptions
	first, next []slot // first child and next sibling of each node
	left        int    // nodes that may still be shown
}

// View copies what the options ask for. It takes a pass over all nodes and 8
// bytes for each, so it is for people and not for every step.
func (t *Tree) View(opts ViewOptions) TreeView {
	opts.Depth = cmp.Or(opts.Depth, viewDepth)
	opts.Nodes = cmp.Or(opts.Nodes, viewNodes)
	opts.Tokens = cmp.Or(opts.Tokens, viewTokens)
	v := &viewer{t: t, opts: opts, left: opts.Nodes, first: make([]slot, max(t.nodes.top, 1)), next: make([]slot, max(t.nodes.top, 1))}
	for i := slot(1); i < t.nodes.top; i++ {
		if n := t.nodes.at(i); n.gen&1 == 1 && n.parent != none {
			v.next[i], v.first[n.parent] = v.first[n.parent], i
		}
	}
	view := TreeView{PageSize: t.pageSize, Nodes: t.count, Evictable: t.evictable, Protected: t.protected, Tick: t.tick}
	names := make([]string, 0, len(t.roots))
	for name := range t.roots {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if v.left == 0 {
			break
		}
		root := t.roots[name]
		children, hidden := v.children(root, 1)
		view.Namespaces = append(view.Namespaces, NamespaceView{Name: name, Number: number(root), Below: hidden, Children: children})
	}
	view.Hidden = t.count - (opts.Nodes - v.left)
	return view
}

// number counts slots from 0.
func number(i slot) int { return int(i) - 1 }

// children copies the nodes below a node, as far as bounds allow, and tells
// how many of its own children that leaves out.
func (v *viewer) children(parent slot, depth int) (shown []NodeView, hidden int) {
	var all []slot
	for i := v.first[parent]; i != none; i = v.next[i] {
		all = append(all, i)
	}
	if depth > v.opts.Depth {
		return nil, len(all)
	}
	t := v.t
	slices.SortFunc(all, func(a, b slot) int {
		return slices.Compare(t.nodes.at(a).tokens[:t.pageSize], t.nodes.at(b).tokens[:t.pageSize])
	})
	for at, i := range all {
		if v.left == 0 {
			return shown, len(all) - at
		}
		v.left--
		n := v.node(i)
		n.Children, n.Below = v.children(i, depth+1)
		shown = append(shown, n)
	}
	return shown, 0
}

func (v *viewer) node(i slot) NodeView {
	n := v.t.nodes.at(i)
	tokens := min(len(n.tokens), v.opts.Tokens)
	view := NodeView{
		Number: number(i), Length: len(n.tokens), Tokens: slices.Clone(n.tokens[:tokens]), Slots: make([]int, tokens),
		Locks: int(n.locks), Age: v.t.tick - n.usage.LastUse, Hits: n.usage.Hits,
	}
	for at := range view.Slots {
		view.Slots[at] = slotOf(n.pages, at, v.t.pageSize) - v.opts.Base
	}
	return view
}

// slotOf is the slot of the token at a position of some pages.
func slotOf(pages []messages.Page, position, pageSize int) int {
	return int(pages[position/pageSize])*pageSize + position%pageSize
}
