package radix

// past is what is remembered of an evicted page.
type past struct {
	lastUse uint64
	hits    uint32
	note    uint32
	serial  uint64 // of the eviction
}

// history remembers the usage of at most limit evicted pages, the latest ones, by
// their chained hash. So counts survive an eviction. About 60 bytes per page.
type history struct {
	limit int
	pages map[uint64]past
	// order is a ring of hashes in the order of eviction, the oldest at serial
	// modulo limit. The entry of a page that has come back is stale.
	order  []uint64
	serial uint64
}

func newHistory(limit int) *history { return &history{limit: limit, pages: map[uint64]past{}} }

func (h *history) remember(hash uint64, u *Usage) {
	at := int(h.serial % uint64(h.limit))
	if at == len(h.order) {
		h.order = append(h.order, hash)
	} else {
		oldest := h.order[at]
		if p, ok := h.pages[oldest]; ok && p.serial == h.serial-uint64(h.limit) {
			delete(h.pages, oldest)
		}
		h.order[at] = hash
	}
	h.pages[hash] = past{lastUse: u.LastUse, hits: u.Hits, note: u.Note, serial: h.serial}
	h.serial++
}

func (h *history) peek(hash uint64) past {
	p := h.pages[hash]
	p.serial = 0
	return p
}

// recall is peek, and forgets the page: its new node has the usage from now on.
func (h *history) recall(hash uint64) past {
	p := h.peek(hash)
	delete(h.pages, hash)
	return p
}
