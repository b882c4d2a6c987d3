package radix

import (
	"testing"
)

// TestEqualHashesAreToldApart finds children of one parent whose hashes are
// equal and puts them side by side.
func TestEqualHashesAreToldApart(t *testing.T) {
	tt := newTreeTest(t, 1)
	tt.put("", 0)
	root := tt.roots[""]
	seen := map[childKey]int32{}
	pairs := 0
	for token := int32(1); token < 400_000; token++ {
		key := tt.children.key(root, []int32{token})
		other, ok := seen[key]
		seen[key] = token
		if !ok {
			continue
		}
		pairs++
		_, a := tt.put("", other, 1)
		_, b := tt.put("", token, 2)
		tt.wantPages(tt.get("", other, 1), a...)
		tt.wantPages(tt.get("", token, 2), b...)
		tt.wantPages(tt.get("", token, 1), b[0])
	}
	if pairs == 0 {
		t.Fatal("no two hashes are equal; try more tokens")
	}
	if err := tt.Check(); err != nil {
		t.Fatal(err)
	}
	tt.EvictAll(nil)
	tt.wantCounts(0, 0, 0)
	if len(tt.children.first) != 0 {
		t.Fatalf("%d children of nodes that are gone", len(tt.children.first))
	}
}

// TestEqualPagesOfTwoParents: the same page below two parents has the same hash.
func TestEqualPagesOfTwoParents(t *testing.T) {
	tt := newTreeTest(t, 1)
	tt.put("", 1)
	tt.put("", 2)
	_, a := tt.put("", 1, 7)
	if got := tt.Peek("", []int32{2, 7}); got != 1 {
		t.Fatalf("%d tokens found below the wrong parent", got)
	}
	_, b := tt.put("", 2, 7)
	tt.wantPages(tt.get("", 1, 7)[1:], a[1])
	tt.wantPages(tt.get("", 2, 7)[1:], b[1])
}

// TestHashSeedChangesNothing: two trees with different seeds do the same.
func TestHashSeedChangesNothing(t *testing.T) {
	print := func(seed uint64) string {
		tree := NewTree(TreeOptions{PageSize: 2, HashSeed: seed})
		fill(tree, 50, 6, 8)
		tree.Evict(100, nil)
		return tree.String()
	}
	if a, b := print(1), print(2); a != b {
		t.Errorf("with one seed\n%s with another\n%s", a, b)
	}
}
