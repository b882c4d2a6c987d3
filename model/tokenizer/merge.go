package tokenizer

import "slices"

// merger applies a merge list to words, in 12 bytes for each character of a
// word. It is scratch memory for one goroutine.
type merger struct {
	// slots has one slot for each initial symbol. The first slot of a symbol
	// has its id; where it was merged of n > 1 initial ones, the second and the
	// last slot have -n, and those between are negative.
	slots []int32
	// heap has the merges that may be applied, lowest rank first, then leftmost:
	// rank<<32 | slot of the left symbol.
	heap []uint64
}

// reset prepares for a word of up to n symbols.
func (m *merger) reset(n int) {
	m.slots, m.heap = slices.Grow(m.slots[:0], n), slices.Grow(m.heap[:0], n)
}

func (m *merger) add(id int32) { m.slots = append(m.slots, id) }

// next is the slot after the symbol at pos.
func (m *merger) next(pos int) int {
	if pos+1 < len(m.slots) && m.slots[pos+1] < 0 {
		return pos - int(m.slots[pos+1])
	}
	return pos + 1
}

// prev is the symbol before the one at pos > 0.
func (m *merger) prev(pos int) int {
	if n := m.slots[pos-1]; n < 0 {
		return pos + int(n)
	}
	return pos - 1
}

// run applies the merges and appends the resulting ids to dst. Each merge
// pushes at most two candidates, so n symbols take O(n log n).
//
// A candidate is stale if the pair at its position has another rank: ranks are unique.
func (m *merger) run(pairs *pairTable, dst []int32) []int32 {
	for i := 0; i+1 < len(m.slots); i++ {
		m.push(pairs, i, i+1)
	}
	for len(m.heap) > 0 {
		top := m.pop()
		pos := int(uint32(top))
		if m.slots[pos] < 0 {
			continue
		}
		right := m.next(pos)
		if right == len(m.slots) {
			continue
		}
		rank, merged, ok := pairs.get(m.slots[pos], m.slots[right])
		if !ok || rank != uint32(top>>32) {
			continue
		}
		end := m.next(right)
		m.slots[pos], m.slots[right] = merged, -1
		m.slots[pos+1], m.slots[end-1] = int32(pos-end), int32(pos-end)
		if end < len(m.slots) {
			m.push(pairs, pos, end)
		}
		if pos > 0 {
			m.push(pairs, m.prev(pos), pos)
		}
	}
	for i := 0; i < len(m.slots); i = m.next(i) {
		dst = append(dst, m.slots[i])
	}
	return dst
}

// push adds the candidate for the neighbours left and right, if they merge.
func (m *merger) push(pairs *pairTable, left, right int) {
	rank, _, ok := pairs.get(m.slots[left], m.slots[right])
	if !ok {
		return
	}
	c := uint64(rank)<<32 | uint64(left)
	h := append(m.heap, c)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up] <= c {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = c
	m.heap = h
}

// pop removes the first candidate of a heap that is not empty.
func (m *merger) pop() uint64 {
	h := m.heap
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1] < h[down] {
			down++
		}
		if last <= h[down] {
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
