package radix

import "github.com/troupe-engine/troupe/messages"

// nodeIndex is the place of a node in its slab. Links between nodes are indices:
// half as big as pointers, and the garbage collector does not follow them.
type nodeIndex int32

const none nodeIndex = 0

// node is one edge of the tree with the node below it. A namespace's root has no pages
// and no parent. A node takes 128 bytes, 4 per token, and 8 per run, at most 4 per page.
type node struct {
	tokens []int32  // pageSize for each of pages
	pages  pageList // at least one, but for a namespace's root
	usage  Usage

	gen      uint32    // odd while the node is in use
	hash     uint32    // of the first page of tokens
	parent   nodeIndex // none for a namespace's root
	chain    nodeIndex // next with the same childKey, or the next unused node
	children int32
	locks    int32 // handles whose path goes through here
	place    leafPlace
}

// leafPlace is where a leaf is in its order.
type leafPlace struct {
	heap       int32     // 1 + index in the heap, inList, or 0 when in neither
	prev, next nodeIndex // in the list
}

const inList = -1

// slackShare: about 1/slackShare of the arrays may be unused, in front of each node and
// behind all nodes together.
const slackShare = 16

// grow appends pages and leaves room for more, so that a prompt inserted in chunks
// is not copied for each of them. fit gives the room back.
func (n *node) grow(tokens []int32, pages []messages.Page) {
	n.tokens = append(n.tokens, tokens...)
	n.pages.append(pages)
}

// fits reports whether nothing behind the arrays is unused.
func (n *node) fits() bool { return len(n.tokens) == cap(n.tokens) && n.pages.spare() == 0 }

// unused is how many tokens could be appended without new memory.
func (n *node) unused() int { return cap(n.tokens) - len(n.tokens) }

// slack reports whether too much is unused in front, after splits. As many tokens were
// compared there, and moving the rest takes at most 16 times as many.
func (n *node) slack() bool { return int(n.pages.cut)*slackShare > n.pages.len() }

const (
	chunkBits = 7
	chunkSize = 1 << chunkBits
)

// slab stores nodes in chunks: a node never moves, and a growing tree copies none.
type slab struct {
	chunks []*[chunkSize]node
	live   []uint8   // nodes in use, by chunk
	top    nodeIndex // nodes below it have been used at least once
	free   nodeIndex // head of the list of unused nodes below top
}

func (s *slab) at(i nodeIndex) *node { return &s.chunks[i>>chunkBits][i&(chunkSize-1)] }

// take returns the index of an empty node, the one given back last if there is one.
func (s *slab) take() nodeIndex {
	i := s.free
	if i == none {
		return s.takeTop()
	}
	s.free = s.at(i).chain
	return s.use(i)
}

// takeTop returns the index of an empty node above all that have been used.
func (s *slab) takeTop() nodeIndex {
	if s.top == none {
		s.top = 1
	}
	i := s.top
	s.top++
	if int(i>>chunkBits) == len(s.chunks) {
		s.chunks, s.live = append(s.chunks, new([chunkSize]node)), append(s.live, 0)
	}
	return s.use(i)
}

func (s *slab) use(i nodeIndex) nodeIndex {
	s.live[i>>chunkBits]++
	n := s.at(i)
	*n = node{gen: n.gen + 1}
	return i
}

func (s *slab) give(i nodeIndex) {
	n := s.at(i)
	*n = node{gen: n.gen + 1, chain: s.free}
	s.free = i
	s.live[i>>chunkBits]--
}

// A handle has the index of a node in its lower half, and in its upper half the
// generation, which tells it from handles of earlier nodes there. The top bit is counted.
const counted messages.NodeID = 1 << 63

const genMask = 1<<31 - 1

// id is the handle of the node at index i, not counted.
func (s *slab) id(i nodeIndex) messages.NodeID {
	return messages.NodeID(uint64(s.at(i).gen&genMask)<<32 | uint64(i))
}

// lookup finds the node of a handle; none when it is not in use any more.
func (s *slab) lookup(id messages.NodeID) nodeIndex {
	i := nodeIndex(uint32(id))
	if i <= none || i >= s.top {
		return none
	}
	if n := s.at(i); n.gen&1 == 0 || (n.gen^uint32(id>>32))&genMask != 0 {
		return none
	}
	return i
}
