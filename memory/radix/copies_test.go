package radix

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// With KeepCopies the pages that the tree has already stay with the request,
// and everything else is as without.
func TestCopiesStayWithTheRequest(t *testing.T) {
	for _, keep := range []bool{false, true} {
		tree := NewTree(TreeOptions{PageSize: 2})
		first := messages.PrefixInsert{ID: 1, Tokens: []int32{1, 2, 3, 4}, Pages: []messages.Page{1, 2}, Keep: true}
		if _, freed := tree.Insert(first, nil); len(freed) > 0 {
			t.Fatalf("freed %v", freed)
		}
		second := messages.PrefixInsert{ID: 2, Tokens: []int32{1, 2, 3, 4, 5, 6}, Pages: []messages.Page{3, 4, 5}, Keep: true, KeepCopies: keep}
		out, freed := tree.Insert(second, nil)
		var want []messages.Page
		if !keep {
			want = []messages.Page{3, 4}
		}
		if !slices.Equal(freed, want) {
			t.Errorf("KeepCopies %t: freed %v, want %v", keep, freed, want)
		}
		if !slices.Equal(out.Pages, []messages.Page{1, 2}) || out.First != 0 {
			t.Errorf("KeepCopies %t: the row uses %v from %d on", keep, out.Pages, out.First)
		}
		if tree.Protected() != 3 || tree.Evictable() != 0 {
			t.Errorf("KeepCopies %t: %d protected and %d evictable pages, want 3 and 0", keep, tree.Protected(), tree.Evictable())
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("copies were kept of a prefix that is not")
		}
	}()
	NewTree(TreeOptions{PageSize: 2}).Insert(messages.PrefixInsert{ID: 1, Tokens: []int32{1, 2}, Pages: []messages.Page{1}, KeepCopies: true}, nil)
}
