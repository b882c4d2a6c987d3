package radix

import "github.com/troupe-engine/troupe/messages"

// matchEnd says why the match of tokens[:limit] ends where it does, and at which
// token. It must be called before Lock, which splits the node in which a match
// ends. It walks the match once more, so it is only for the request log.
func (t *Tree) matchEnd(namespace string, tokens []int32, limit int) (messages.MatchEnd, int) {
	cur := t.roots[namespace]
	switch {
	case cur == none:
		return messages.MatchNothingCached, 0
	case limit < t.pageSize:
		return messages.MatchTooShort, 0
	}
	for at := 0; ; {
		rest := tokens[at:limit]
		child, k := t.next(cur, rest)
		switch {
		case len(rest) < t.pageSize:
			return messages.MatchLimited, limit
		case child == none && t.nodes.at(cur).children == 0:
			return messages.MatchCacheEnds, at
		case child == none:
			return messages.MatchDiverges, at
		}
		n := t.nodes.at(child)
		if k == n.pages.len() {
			cur, at = child, at+k*t.pageSize
			continue
		}
		at += commonTokens(n.tokens, rest)
		if at == limit {
			return messages.MatchLimited, limit
		}
		return messages.MatchDiverges, at
	}
}
