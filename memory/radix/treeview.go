package radix

import (
	"cmp"
	"slices"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// Defaults of CacheLimits.
const (
	viewDepth  = 10
	viewNodes  = 200
	viewTokens = 8
)

// viewLooks is how many nodes a view looks at, besides the path that it is on, because
// the cache does nothing else meanwhile. Of a bigger tree a part is shown.
const viewLooks = 1 << 14

// View is what people see of a tree, a part if it is big. Its slices are the receiver's.
type View struct {
	PageSize   int             `json:"page_size"`
	Nodes      int             `json:"nodes"`           // without roots, shown or not
	Evictable  int             `json:"evictable_pages"` // the whole tree
	Protected  int             `json:"protected_pages"`
	Tick       uint64          `json:"tick"`         // insertions and unlocks so far
	Hidden     int             `json:"hidden_nodes"` // not shown
	Namespaces []NamespaceView `json:"namespaces"`   // by name
}

type NamespaceView struct {
	Name     string     `json:"name"`
	Number   int        `json:"number"`          // of the root; see NodeView
	Below    int        `json:"children_hidden"` // children that are not shown
	Children []NodeView `json:"children"`
}

// NodeView is a node; siblings are in the order of their first page of tokens.
type NodeView struct {
	// Number is unique among the present nodes. The first is 0. A split gives the
	// upper part a new number. The number of an evicted node is reused.
	Number   int        `json:"number"`
	Length   int        `json:"length"`          // tokens
	Tokens   []int32    `json:"tokens"`          // the first of them
	Slots    []int      `json:"slots"`           // of these tokens
	Locks    int        `json:"locks"`           // handles whose path goes through here
	Age      uint64     `json:"age"`             // ticks since the last use
	Hits     uint32     `json:"hits"`            // requests that used it, the first included
	Below    int        `json:"children_hidden"` // children that are not shown
	Children []NodeView `json:"children,omitempty"`
}

// viewer walks a tree. Children are not linked from their parents, so it finds them in
// one pass over the nodes, as far as viewLooks allows.
type viewer struct {
	t           *Tree
	limits      messages.CacheLimits
	roots       []nodeIndex
	first, next map[nodeIndex]nodeIndex // first child and next sibling of each node
	looks       int                     // left
	left        int                     // nodes that may still be shown
}

// View copies a part of the tree within limits. It costs a pass over the nodes, at most
// viewLooks of them, so it is for people and not for every step.
func (t *Tree) View(limits messages.CacheLimits) View {
	v := t.newViewer(limits)
	view := View{PageSize: t.pageSize, Nodes: t.count, Evictable: t.evictable, Protected: t.protected, Tick: t.tick}
	slices.SortFunc(v.roots, func(a, b nodeIndex) int { return cmp.Compare(t.names[a], t.names[b]) })
	for _, root := range v.roots {
		if v.left == 0 {
			break
		}
		children, hidden := v.children(root, 1)
		view.Namespaces = append(view.Namespaces, NamespaceView{Name: t.names[root], Number: number(root), Below: hidden, Children: children})
	}
	view.Hidden = t.count - (v.limits.Nodes - v.left)
	return view
}

// newViewer looks at the nodes, chunk by chunk where there are any.
func (t *Tree) newViewer(limits messages.CacheLimits) *viewer {
	limits.Depth = cmp.Or(limits.Depth, viewDepth)
	limits.Nodes = cmp.Or(limits.Nodes, viewNodes)
	limits.Tokens = cmp.Or(limits.Tokens, viewTokens)
	v := &viewer{t: t, limits: limits, left: limits.Nodes, first: map[nodeIndex]nodeIndex{}, next: map[nodeIndex]nodeIndex{}, looks: viewLooks}
	for chunk, live := range t.nodes.live {
		if live == 0 {
			continue
		}
		from := nodeIndex(chunk << chunkBits)
		for i := max(from, 1); i < min(from+chunkSize, t.nodes.top); i++ {
			if v.looks--; v.looks < 0 {
				return v
			}
			if t.nodes.at(i).gen&1 == 1 {
				v.found(i)
			}
		}
	}
	return v
}

// found links a node and all above it to their parents.
func (v *viewer) found(i nodeIndex) {
	for {
		parent := v.t.nodes.at(i).parent
		if parent == none { // a root, noted with its first child
			return
		}
		if _, known := v.next[i]; known {
			return
		}
		sibling, known := v.first[parent]
		v.next[i], v.first[parent] = sibling, i
		if !known && v.t.nodes.at(parent).parent == none {
			v.roots = append(v.roots, parent)
		}
		v.looks--
		i = parent
	}
}

// number counts nodes from 0.
func number(i nodeIndex) int { return int(i) - 1 }

// children copies the nodes below a node within the limits, and counts children left out.
func (v *viewer) children(parent nodeIndex, depth int) (shown []NodeView, hidden int) {
	t := v.t
	hidden = int(t.nodes.at(parent).children)
	if depth > v.limits.Depth {
		return nil, hidden
	}
	var all []nodeIndex
	for i := v.first[parent]; i != none; i = v.next[i] {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b nodeIndex) int {
		return slices.Compare(t.nodes.at(a).tokens[:t.pageSize], t.nodes.at(b).tokens[:t.pageSize])
	})
	for _, i := range all {
		if v.left == 0 {
			break
		}
		v.left--
		n := v.node(i)
		n.Children, n.Below = v.children(i, depth+1)
		shown = append(shown, n)
	}
	return shown, hidden - len(shown)
}

func (v *viewer) node(i nodeIndex) NodeView {
	n := v.t.nodes.at(i)
	tokens, size := min(len(n.tokens), v.limits.Tokens), v.t.pageSize
	view := NodeView{
		Number: number(i), Length: len(n.tokens), Tokens: slices.Clone(n.tokens[:tokens]), Slots: make([]int, tokens),
		Locks: int(n.locks), Age: v.t.tick - n.usage.LastUse, Hits: n.usage.Hits,
	}
	pages := n.pages.appendFirst(paging.Pages(tokens, size), nil)
	for at := range view.Slots {
		view.Slots[at] = int(pages[at/size])*size + at%size
	}
	return view
}
