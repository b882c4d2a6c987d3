package radix

import (
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/messages"
)

// String draws the tree for a person; View says what it costs.
func (t *Tree) String() string {
	v := t.View(messages.CacheLimits{})
	return fmt.Sprintf("%d nodes, %d pages of %d tokens evictable, %d protected\n%s",
		v.Nodes, v.Evictable, v.PageSize, v.Protected, v.Text(true))
}

// Text draws the view: one line for each node, roots first, [R] for a root and [L] for a
// leaf, ref for the lock count. A root is always protected, shown as ref=1. With ages, a
// line also has the ticks since the last use and the requests that used the node.
func (v View) Text(ages bool) string {
	p := &printer{ages: ages}
	for _, n := range v.Namespaces {
		if n.Name == "" {
			p.WriteString("Root Node:\n")
		} else {
			fmt.Fprintf(p, "Root Node of namespace %q:\n", n.Name)
		}
		fmt.Fprintf(p, "└── uuid=%d, ref=1 [R]\n", n.Number)
		p.children(n.Children, n.Below, "    ")
	}
	if v.Hidden > 0 {
		fmt.Fprintf(p, "… and %d more nodes\n", v.Hidden)
	}
	return p.String()
}

type printer struct {
	strings.Builder
	ages bool
}

// children draws siblings, of which hidden are not in the view.
func (p *printer) children(all []NodeView, hidden int, indent string) {
	for i := range all {
		mark, deeper := "├── ", "│   "
		if i == len(all)-1 && hidden == 0 {
			mark, deeper = "└── ", "    "
		}
		p.WriteString(indent + mark)
		p.node(&all[i])
		p.children(all[i].Children, all[i].Below, indent+deeper)
	}
	if hidden > 0 {
		fmt.Fprintf(p, "%s└── … %d more\n", indent, hidden)
	}
}

func (p *printer) node(n *NodeView) {
	more := ""
	if n.Length > len(n.Tokens) {
		more = fmt.Sprintf(", … %d", n.Length)
	}
	fmt.Fprintf(p, "uuid=%d, tokens=[%s%s], slots=[%s%s], ref=%d", n.Number, list(n.Tokens), more, list(n.Slots), more, n.Locks)
	if p.ages {
		fmt.Fprintf(p, ", age=%d, hits=%d", n.Age, n.Hits)
	}
	if len(n.Children) == 0 && n.Below == 0 {
		p.WriteString(" [L]")
	}
	p.WriteByte('\n')
}

func list[T any](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}
