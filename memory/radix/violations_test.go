package radix

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/invariantstest"
)

func TestTreeViolations(t *testing.T) {
	insert := func(in messages.PrefixInsert) func(*treeTest, messages.NodeID) {
		return func(tt *treeTest, node messages.NodeID) {
			if in.Node != messages.RootNode {
				in.Node = node
			}
			tt.Insert(in, nil)
		}
	}
	const held = 1 // replaced by the handle of the held node
	tests := []struct {
		what string
		f    func(*treeTest, messages.NodeID)
	}{
		{"is not locked", func(tt *treeTest, n messages.NodeID) { tt.Unlock(n); tt.Unlock(n) }},
		{"is not locked", func(tt *treeTest, n messages.NodeID) { tt.Unlock(n); tt.EvictAll(nil); tt.put("", 1, 2); tt.Unlock(n) }},
		{"is not locked", func(tt *treeTest, _ messages.NodeID) { tt.Unlock(1 << 40) }},
		{"match limit 3 of 2 tokens", func(tt *treeTest, _ messages.NodeID) { tt.Lock("", []int32{1, 2}, 3, nil) }},
		{"inserts 3 tokens on 2 pages", insert(messages.PrefixInsert{Tokens: []int32{1, 2, 3}, Pages: []messages.Page{5, 6}})},
		{"2 of them owned", insert(messages.PrefixInsert{Tokens: []int32{1}, Pages: []messages.Page{5}, Owned: 2})},
		{"owns 1 pages through no node", insert(messages.PrefixInsert{Tokens: []int32{1}, Pages: []messages.Page{5}, Owned: 1})},
		{"through a node at depth 2", insert(messages.PrefixInsert{Tokens: []int32{1, 2}, Pages: []messages.Page{10, 11}, Owned: 1, Node: held})},
		{"another namespace", insert(messages.PrefixInsert{Namespace: "x", Tokens: []int32{1, 2}, Pages: []messages.Page{10, 11}, Owned: 2, Node: held})},
		{"which the tree has already", insert(messages.PrefixInsert{Tokens: []int32{1, 2}, Pages: []messages.Page{50, 11}})},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			x := &treeTest{T: t, Tree: NewTree(TreeOptions{PageSize: 1}), next: 10}
			x.put("", 1, 2)
			node, _ := x.Lock("", []int32{1, 2}, 2, nil)
			invariantstest.MustFail(t, tt.what, func() { tt.f(x, node) })
		})
	}
	invariantstest.MustFail(t, "page size is 3", func() { NewTree(TreeOptions{PageSize: 3}) })
}
