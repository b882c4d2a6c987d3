package vocab

// trie is a prefix tree in preorder. Entry i is a node below the one whose
// depth is one less and that precedes it last.
type trie struct {
	nodes []trieNode
	// more holds, for a node with several tokens of the same bytes, their ids.
	more  [][]int32
	depth int
}

// trieNode is 12 bytes, so that a walk reads memory in order.
type trieNode struct {
	skip  int32 // index of the next node that is not below this one
	token int32 // -1: none; below -1: ^index-1 into more
	depth uint16
	by    byte
}

const noToken = int32(-1)

// newTrie builds the tree of the tokens ids, which are sorted by their bytes.
func newTrie(text [][]byte, ids []int32) trie {
	var t trie
	var path []int32 // nodes of the token before
	var last []byte
	for _, id := range ids {
		w := text[id]
		common := 0
		for common < len(w) && common < len(last) && w[common] == last[common] {
			common++
		}
		t.close(path[common:])
		path = path[:common]
		for d := common; d < len(w); d++ {
			path = append(path, int32(len(t.nodes)))
			t.nodes = append(t.nodes, trieNode{token: noToken, depth: uint16(d), by: w[d]})
		}
		t.depth = max(t.depth, len(w))
		node := &t.nodes[path[len(path)-1]]
		switch {
		case node.token == noToken:
			node.token = id
		case node.token >= 0:
			t.more = append(t.more, []int32{node.token, id})
			node.token = -int32(len(t.more)) - 1
		default:
			list := &t.more[-node.token-2]
			*list = append(*list, id)
		}
		last = w
	}
	t.close(path)
	return t
}

func (t *trie) close(path []int32) {
	for _, n := range path {
		t.nodes[n].skip = int32(len(t.nodes))
	}
}
