package radix

import (
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// matchEnd says why the match of tokens[:limit] ends where it does, and at which
// token. It must be called before Lock, which splits the node in which a match
// ends. It walks the match once more, so it is only for the request log.
func (t *Tree) matchEnd(namespace string, tokens []int32, limit int) (messages.MatchEnd, int) {
	root := t.roots[namespace]
	switch {
	case root == none:
		return messages.MatchNothingCached, 0
	case limit < t.pageSize:
		return messages.MatchTooShort, 0
	}
	cur, part, k, at := t.match(root, tokens[:limit])
	switch {
	case part != none:
		at += paging.CommonPrefix(t.nodes.at(part).tokens[k*t.pageSize:], tokens[at:limit])
		if at < limit {
			return messages.MatchDiverges, at
		}
	case limit-at < t.pageSize:
	case t.nodes.at(cur).children == 0:
		return messages.MatchCacheEnds, at
	default:
		return messages.MatchDiverges, at
	}
	return messages.MatchLimited, limit
}
