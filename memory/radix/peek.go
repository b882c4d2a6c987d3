package radix

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// peekPrefixes answers with hints for the waiting queue. Its cost is linear in the
// tokens matched; it stops after MaxTokens of them. The first request is always
// answered.
func (c *Core) peekPrefixes(m *messages.PeekPrefixes, out *messages.Outbox) {
	reply := &messages.PrefixesPeeked{Peeked: make([]messages.PrefixPeeked, 0, len(m.Prefixes))}
	tokens := 0
	for i := range m.Prefixes {
		if i > 0 && tokens >= m.MaxTokens {
			break
		}
		p := &m.Prefixes[i]
		found := messages.PrefixPeeked{ID: p.ID}
		if m.PathNodes > 0 {
			found.Tokens, found.Path = c.tree.PeekPath(p.Namespace, p.Tokens, m.PathNodes)
		} else {
			found.Tokens = c.tree.Peek(p.Namespace, p.Tokens)
		}
		tokens += found.Tokens
		reply.Peeked = append(reply.Peeked, found)
	}
	out.ToQueue(reply)
}

// PeekPath is Peek that also returns the ids of the matching nodes, at most most of
// them, from the top down and without the root. A node that matches in part is
// included: a Lock would split it. The ids are names only: nothing is locked.
func (t *Tree) PeekPath(namespace string, tokens []int32, most int) (matched int, path []messages.NodeID) {
	i, part, _, matched := t.match(t.roots[namespace], tokens)
	if part != none {
		i = part
	}
	for ; i != none && t.nodes.at(i).parent != none; i = t.nodes.at(i).parent {
		path = append(path, t.nodes.id(i))
	}
	slices.Reverse(path)
	return matched, path[:min(len(path), most)]
}
