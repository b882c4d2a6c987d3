package radix

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// request is a user of the tree, as the batch former is.
type request struct {
	*treeTest
	node   messages.NodeID
	tokens []int32
	pages  []messages.Page
	owned  int
}

func (t *treeTest) admit(tokens ...int32) *request {
	r := &request{treeTest: t, tokens: tokens}
	r.node, r.pages = t.Lock("", tokens, len(tokens), nil)
	r.owned = len(r.pages)
	r.pages = append(r.pages, t.fresh(len(tokens)/t.pageSize-r.owned)...)
	return r
}

func (r *request) insert(keep bool, more ...int32) (out messages.PrefixInserted, freed []messages.Page) {
	r.tokens = append(slices.Clone(r.tokens), more...)
	r.pages = append(r.pages, r.fresh(len(more)/r.pageSize)...)
	out, freed = r.Insert(messages.PrefixInsert{
		ID: 1, Tokens: r.tokens, Pages: slices.Clone(r.pages), Owned: r.owned, Node: r.node, Keep: keep,
	}, nil)
	copy(r.pages[out.First:], out.Pages)
	r.node, r.owned = out.Node, len(r.pages)
	return out, freed
}

func TestTwoRequestsInsertTheSame(t *testing.T) {
	tt := newTreeTest(t, 2)
	a, b := tt.admit(1, 2, 3, 4), tt.admit(1, 2, 3, 4)
	outA, freedA := a.insert(true)
	outB, freedB := b.insert(true)
	tt.wantPages(freedA)
	tt.wantPages(outA.Pages)
	tt.wantPages(freedB, 12, 13)
	tt.wantPages(outB.Pages, 10, 11)
	if outB.First != 0 || outB.Node != outA.Node {
		t.Fatalf("outcome %+v", outB)
	}
	tt.wantCounts(0, 2, 1)
	b.insert(false)
	tt.wantCounts(0, 2, 1)
	a.insert(false)
	tt.wantCounts(2, 0, 1)
}

func TestInsertMeetsOthersInTheMiddleOfANode(t *testing.T) {
	tt := newTreeTest(t, 1)
	tt.put("", 1, 2, 3, 4, 5) // 10..14
	a := tt.admit(1, 2)       // splits behind 2
	tt.put("", 1, 2, 3, 7)    // splits behind 3; 15.. are duplicates, 18 is 7
	out, freed := a.insert(true, 3, 4, 9)
	tt.wantPages(freed, 19, 20)
	tt.wantPages(out.Pages, 12, 13)
	if out.First != 2 {
		t.Fatalf("replaced from page %d on", out.First)
	}
	tt.wantPages(a.pages, 10, 11, 12, 13, 21)
	tt.wantCounts(2, 5, 6) // 7 and 5 are unlocked
}

func TestHandleSurvivesSplits(t *testing.T) {
	tt := newTreeTest(t, 1)
	a := tt.admit(1, 2, 3, 4)
	a.insert(true)
	id := a.node
	b := tt.admit(1, 2)
	c := tt.admit(1, 2, 3)
	tt.wantCounts(0, 4, 3)
	out, _ := a.insert(true)
	if out.Node != id {
		t.Fatalf("handle changed from %#x to %#x", id, out.Node)
	}
	tt.Unlock(id)
	tt.wantCounts(1, 3, 3)
	tt.Unlock(c.node)
	tt.wantCounts(2, 2, 3)
	tt.Unlock(b.node)
	tt.wantCounts(4, 0, 3)
}

func TestLeafGrowsInPlaceForItsOnlyHolder(t *testing.T) {
	tt := newTreeTest(t, 1)
	a := tt.admit(1, 2, 3)
	a.insert(true)
	id := a.node
	for token := int32(4); token < 40; token++ {
		a.insert(true, token)
	}
	tt.wantCounts(0, 39, 1)
	if a.node != id {
		t.Fatal("the handle changed")
	}
	b := tt.admit(a.tokens...)
	a.insert(true, 100) // b holds it, too
	tt.wantCounts(0, 40, 2)
	if b.node|counted != id || a.node == id {
		t.Fatal("a leaf with two holders grew")
	}
	a.insert(false)
	b.insert(true, 200) // it has a child
	tt.wantCounts(1, 40, 3)
	b.insert(false, 201)
	tt.wantCounts(42, 0, 3)
}

func TestInsertOfNothingNew(t *testing.T) {
	tt := newTreeTest(t, 4)
	out, freed := tt.Insert(messages.PrefixInsert{ID: 5, Keep: true}, nil)
	if out.ID != 5 || out.Node != messages.RootNode || len(freed)+len(out.Pages) > 0 || len(tt.roots) > 0 {
		t.Fatalf("outcome %+v, freed %v", out, freed)
	}
	tt.put("", 1, 2, 3, 4)
	a := tt.admit(1, 2, 3, 4)
	id := a.node
	if out, freed := a.insert(true); out.Node != id|counted || len(freed) > 0 {
		t.Fatalf("outcome %+v, freed %v", out, freed)
	}
	tt.wantCounts(0, 1, 1)
	if out, freed := a.insert(false); out.Node != messages.RootNode || len(freed) > 0 {
		t.Fatalf("outcome %+v, freed %v", out, freed)
	}
	tt.wantCounts(1, 0, 1)
}
