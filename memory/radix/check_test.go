package radix

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// The checker that builds with invariants run after every message finds damage
// to the tree (SGLang's item 32), and says which invariant it broke.
func TestCheckFindsDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(tree *Tree, leaf *node)
		broken string
	}{
		{"a page on two nodes", func(t *Tree, leaf *node) { leaf.pages.code[1] = 10 }, "1: page 10 is on nodes"},
		{"a page without its tokens", func(_ *Tree, leaf *node) { leaf.tokens = leaf.tokens[:2] }, "1: node"},
		{"a child too few", func(t *Tree, leaf *node) { t.nodes.at(leaf.parent).children-- }, "2: node"},
		{"a lock below a node without one", func(t *Tree, leaf *node) { t.nodes.at(leaf.parent).locks = 0 }, "3: node"},
		{"pages in more room than one by one", func(_ *Tree, leaf *node) { leaf.pages.code = []messages.Page{-1, 15, 16} }, "8: node"},
		{"a leaf with memory that is not counted", func(_ *Tree, leaf *node) {
			leaf.tokens = append(make([]int32, 0, 17), leaf.tokens...)
		}, "8: counted"},
		{"counters wrong in sum", func(t *Tree, _ *node) { t.evictable++ }, "4: counted"},
		{"counters wrong, though their sum is right", func(t *Tree, _ *node) { t.evictable, t.protected = t.evictable+1, t.protected-1 }, "4: counted"},
	} {
		tt := &treeTest{T: t, Tree: NewTree(TreeOptions{PageSize: 2}), next: 10}
		tt.put("", 1, 2, 3, 4)
		tt.put("", 1, 2, 5, 6, 7, 8)
		id, _ := tt.Lock("", []int32{1, 2, 5, 6, 7, 8}, 6, nil)
		if err := tt.Check(); err != nil {
			t.Fatal(err)
		}
		c.damage(tt.Tree, tt.nodes.at(tt.locked(id)))
		if err := tt.Check(); err == nil || !strings.HasPrefix(err.Error(), c.broken) {
			t.Errorf("%s: the checker says %v, want %q", c.name, err, c.broken)
		}
	}
}
