package request

// matcher finds the first stop string in a text that comes in pieces, with an
// Aho–Corasick automaton: amortised O(1) per byte of text, memory proportional to
// the stop strings. It is immutable after newMatcher and shared by the choices of
// a prompt. The state of a text is a node, 0 at its start.
type matcher struct {
	stops []string
	nodes []stopNode // nodes[0] is the root
}

// stopNode is a prefix of a stop string, the longest that is a suffix of the text so far.
type stopNode struct {
	child, sibling int32 // first child, next sibling; 0: none
	fail           int32 // the longest proper suffix that is a node
	match          int32 // index of the longest stop string that ends here, or -1
	hold           int32 // bytes at the end of the text that may be the start of a stop string
	label          byte  // the last byte of the prefix
}

// newMatcher builds the automaton; nil for no stop strings.
func newMatcher(stops []string) *matcher {
	if len(stops) == 0 {
		return nil
	}
	m := &matcher{stops: stops, nodes: []stopNode{{match: -1}}}
	depth := []int32{0}
	for i, s := range stops {
		n := int32(0)
		for j := range len(s) {
			next := m.childOf(n, s[j])
			if next == 0 {
				next = int32(len(m.nodes))
				m.nodes = append(m.nodes, stopNode{label: s[j], match: -1, sibling: m.nodes[n].child})
				m.nodes[n].child = next
				depth = append(depth, int32(j+1))
			}
			n = next
		}
		if m.nodes[n].match < 0 {
			m.nodes[n].match = int32(i)
		}
	}
	m.link(depth)
	return m
}

// link fills in fail, match and hold in breadth-first order.
func (m *matcher) link(depth []int32) {
	queue := []int32{0}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for c := m.nodes[n].child; c != 0; c = m.nodes[c].sibling {
			node := &m.nodes[c]
			if n != 0 {
				node.fail = m.next(m.nodes[n].fail, node.label)
			}
			if node.match < 0 {
				node.match = m.nodes[node.fail].match
			}
			node.hold = depth[c]
			if node.child == 0 { // a complete stop string: only a suffix of it can continue
				node.hold = m.nodes[node.fail].hold
			}
			queue = append(queue, c)
		}
	}
}

// childOf is the child of a node for a byte, 0 if there is none.
func (m *matcher) childOf(n int32, b byte) int32 {
	for c := m.nodes[n].child; c != 0; c = m.nodes[c].sibling {
		if m.nodes[c].label == b {
			return c
		}
	}
	return 0
}

// next is the state after one more byte.
func (m *matcher) next(n int32, b byte) int32 {
	for {
		if c := m.childOf(n, b); c != 0 || n == 0 {
			return c
		}
		n = m.nodes[n].fail
	}
}

// stopStep is the state after a piece of text. It only holds strings and numbers,
// so it can be computed ahead and thrown away.
type stopStep struct {
	state int32
	final string // text that cannot become part of a stop string
	held  string // text after it that may be the start of a stop string
	// matched is the index of the stop string that ended the text, or -1.
	// final then ends where the stop string starts, or ends with keep.
	matched int
}

// advance reads a piece that follows the held text. Unless armed, complete stop
// strings are ignored. A nil matcher holds nothing back.
func (m *matcher) advance(state int32, held, piece string, armed, keep bool) stopStep {
	if m == nil {
		return stopStep{final: piece, matched: -1}
	}
	text := piece
	if held != "" {
		text = held + piece
	}
	for i := len(held); i < len(text); i++ {
		state = m.next(state, text[i])
		if hit := m.nodes[state].match; hit >= 0 && armed {
			end := i + 1
			if !keep {
				end -= len(m.stops[hit])
			}
			return stopStep{state: state, final: text[:end], matched: int(hit)}
		}
	}
	cut := len(text) - int(m.nodes[state].hold)
	return stopStep{state: state, final: text[:cut], held: text[cut:], matched: -1}
}
