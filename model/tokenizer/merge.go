package tokenizer

import "slices"

// symbol is one token of a word being merged, in a doubly linked list over a
// slice. A merged-away symbol has id -1.
type symbol struct {
	id         int32
	prev, next int32 // indices, -1 at the ends
}

// candidate is a merge that may be applied: lowest rank first, then leftmost.
type candidate struct {
	order  uint64 // rank<<32 | position of the left symbol
	merged int32
}

// merger applies a merge list to words. It is scratch memory for one
// goroutine.
type merger struct {
	symbols []symbol
	heap    []candidate
}

// reset prepares for a word of up to n symbols.
func (m *merger) reset(n int) {
	m.symbols, m.heap = slices.Grow(m.symbols[:0], n), slices.Grow(m.heap[:0], n)
}

// add appends one initial symbol.
func (m *merger) add(id int32) {
	n := int32(len(m.symbols))
	m.symbols = append(m.symbols, symbol{id: id, prev: n - 1, next: n + 1})
}

// run applies the merges and appends the resulting ids to dst. Each merge
// pushes at most two candidates, so n symbols take O(n log n).
//
// A candidate is stale when the pair at its position no longer merges into the
// same token: symbols only grow, so another pair there gives a longer token.
func (m *merger) run(pairs *pairTable, dst []int32) []int32 {
	n := len(m.symbols)
	if n == 0 {
		return dst
	}
	m.symbols[n-1].next = -1
	for i := 0; i+1 < n; i++ {
		m.push(pairs, int32(i), int32(i+1))
	}
	for len(m.heap) > 0 {
		top := m.pop()
		pos := int32(uint32(top.order))
		left := &m.symbols[pos]
		if left.id < 0 || left.next < 0 {
			continue
		}
		right := &m.symbols[left.next]
		if _, merged, ok := pairs.get(left.id, right.id); !ok || merged != top.merged {
			continue
		}
		left.id, right.id = top.merged, -1
		left.next = right.next
		if right.next >= 0 {
			m.symbols[right.next].prev = pos
			m.push(pairs, pos, right.next)
		}
		if left.prev >= 0 {
			m.push(pairs, left.prev, pos)
		}
	}
	for i := int32(0); i >= 0; i = m.symbols[i].next {
		dst = append(dst, m.symbols[i].id)
	}
	return dst
}

// push adds the candidate for the neighbours left and right, if they merge.
func (m *merger) push(pairs *pairTable, left, right int32) {
	rank, merged, ok := pairs.get(m.symbols[left].id, m.symbols[right].id)
	if !ok {
		return
	}
	c := candidate{order: uint64(rank)<<32 | uint64(uint32(left)), merged: merged}
	h := append(m.heap, c)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up].order <= c.order {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = c
	m.heap = h
}

// pop removes the first candidate of a heap that is not empty.
func (m *merger) pop() candidate {
	h := m.heap
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].order < h[down].order {
			down++
		}
		if last.order <= h[down].order {
			break
		}
		h[i] = h[down]
		i = down
	}
	if len(h) > 0 {
		h[i] = last
	}
	m.heap = h
	return top
}
