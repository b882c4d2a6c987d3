package radix

import "github.com/troupe-engine/troupe/messages"

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
		switch {
		case c.disabled:
		case m.PathNodes > 0:
			found.Tokens, found.Path = c.tree.PeekPath(p.Namespace, p.Tokens, m.PathNodes)
		default:
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
	cur := t.roots[namespace]
	if cur == none {
		return 0, nil
	}
	for {
		child, k := t.next(cur, tokens[matched:])
		if child == none {
			return matched, path
		}
		matched += k * t.pageSize
		if len(path) < most {
			path = append(path, t.nodes.id(child))
		}
		if k < t.nodes.at(child).pages.len() {
			return matched, path
		}
		cur = child
	}
}
