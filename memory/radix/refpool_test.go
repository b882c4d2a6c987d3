package radix

import "github.com/troupe-engine/troupe/messages"

// refPool is the KV pool as the memory article writes it, in the role of a slow
// twin: one reference count per slot, raised by each user of the slot and
// lowered again; a slot is free at zero.
type refPool struct{ state []int }

func newRefPool(pages int) *refPool { return &refPool{state: make([]int, pages+1)} }

func (p *refPool) add(slots []messages.Page) {
	for _, slot := range slots {
		p.state[slot]++
	}
}

func (p *refPool) decrease(slots []messages.Page) {
	for _, slot := range slots {
		p.state[slot]--
	}
}

// check compares every count with what leases and lock counts say: one for the
// tree if it holds the page, and one for each lease that uses it.
func (p *refPool) check(m *treeMachine) {
	want := make([]int, len(p.state))
	for _, page := range m.twin.pages {
		want[page.page]++
	}
	for _, r := range m.open {
		for _, page := range r.pages {
			want[page]++
		}
	}
	free := map[messages.Page]bool{}
	for _, page := range m.alloc.FreePages(nil) {
		free[page] = true
	}
	for page := 1; page < len(want); page++ {
		if p.state[page] != want[page] {
			m.t.Fatalf("page %d has %d references, tree and leases make %d", page, p.state[page], want[page])
		}
		if (want[page] == 0) != free[messages.Page(page)] {
			m.t.Fatalf("page %d has %d references, free in the allocator: %t", page, want[page], free[messages.Page(page)])
		}
	}
}
