package radix

import (
	"testing"
)

// The history holds what was evicted last and no more, whatever came back in
// between and left again.
func TestHistoryIsBounded(t *testing.T) {
	const limit = 8
	h, rng := newHistory(limit), newRNG(3)
	var gone []uint64 // evicted and not back, the latest last
	uses := map[uint64]uint32{}
	for step := range 5000 {
		hash := uint64(rng(30))
		at := -1
		for i, g := range gone {
			if g == hash {
				at = i
			}
		}
		if at < 0 { // cached: it goes
			uses[hash]++
			h.remember(hash, &Usage{Hits: uses[hash], LastUse: uint64(step + 1)})
			gone = append(gone, hash)
		} else { // it comes back
			p := h.recall(hash)
			if known := h.peek(hash); known.hits != 0 {
				t.Fatalf("step %d: page %d is remembered while it is cached", step, hash)
			}
			later := len(gone) - 1 - at // that went after it and are still away
			if p.hits != 0 && p.hits != uses[hash] || later >= limit && p.hits != 0 {
				t.Fatalf("step %d: page %d had %d uses and is remembered with %d, %d went later", step, hash, uses[hash], p.hits, later)
			}
			gone = append(gone[:at], gone[at+1:]...)
		}
		if len(h.pages) > limit || len(h.order) > limit {
			t.Fatalf("step %d: %d pages are remembered in %d places, at most %d may be", step, len(h.pages), len(h.order), limit)
		}
	}
	h = newHistory(limit)
	for hash := range uint64(2 * limit) {
		h.remember(hash, &Usage{Hits: 1})
	}
	for hash := range uint64(2 * limit) {
		if got := h.peek(hash).hits != 0; got != (hash >= limit) {
			t.Errorf("page %d is remembered: %t", hash, got)
		}
	}
}
