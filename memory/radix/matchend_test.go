package radix

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func TestMatchEnd(t *testing.T) {
	for name, c := range map[string]struct {
		namespace string
		tokens    []int32
		limit     int
		end       messages.MatchEnd
		at        int
	}{
		"another namespace":         {"n", []int32{1, 2, 3, 4, 5}, 4, messages.MatchNothingCached, 0},
		"all but the last token":    {"", []int32{1, 2, 3, 4, 5}, 4, messages.MatchLimited, 4},
		"less than a page is left":  {"", []int32{1, 2, 3, 4, 5, 6, 7, 8}, 7, messages.MatchLimited, 7},
		"a limit of nothing":        {"", []int32{1, 2, 3, 4, 5}, 0, messages.MatchTooShort, 0},
		"a prompt below a page":     {"", []int32{1, 2, 3, 4}, 3, messages.MatchTooShort, 0},
		"inside a page":             {"", []int32{1, 2, 3, 4, 5, 6, 70, 80, 90}, 8, messages.MatchDiverges, 6},
		"at the first page":         {"", []int32{2, 2, 3, 4, 5}, 4, messages.MatchDiverges, 0},
		"behind the last common":    {"", []int32{1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 1}, 12, messages.MatchDiverges, 8},
		"longer than what is there": {"", []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, 16, messages.MatchCacheEnds, 12},
	} {
		// A tree of its own: locking splits nodes, and behind a split the cache
		// knows the page that differs, not the token.
		tree := NewTree(TreeOptions{PageSize: 4})
		insert := func(first messages.Page, tokens ...int32) {
			pages := make([]messages.Page, len(tokens)/4)
			for i := range pages {
				pages[i] = first + messages.Page(i)
			}
			tree.Insert(messages.PrefixInsert{Tokens: tokens, Pages: pages}, nil)
		}
		insert(1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
		insert(10, 1, 2, 3, 4, 5, 6, 7, 8, 90, 91, 92, 93)
		end, at := tree.matchEnd(c.namespace, c.tokens, c.limit)
		if end != c.end || at != c.at {
			t.Errorf("%s: %s at %d, want %s at %d", name, end, at, c.end, c.at)
		}
		// It says at least what Lock finds.
		node, pages := tree.Lock(c.namespace, c.tokens, c.limit, nil)
		if len(pages) != at/4 && end != messages.MatchLimited || len(pages)*4 > at {
			t.Errorf("%s: %d pages are locked, the match ends at token %d", name, len(pages), at)
		}
		tree.Unlock(node)
	}
}
