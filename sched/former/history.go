package former

import (
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/messages"
)

// historyPlans is how many of the last plans a failed audit reports.
const historyPlans = 8

// committed counts what one CommitPlan did with pages.
type committed struct {
	plan                             messages.PlanID
	inserted, unlocked, evicted      int // pages given to the tree, locks given back, pages to evict (-1: all)
	freed, reserved                  int // pages given back by leases, pages asked for
	closed                           bool
	freeAfter, evictAfter, protAfter int // counters once the plan was closed
}

// history is a ring of the last plans. When an audit does not balance, its log line
// says where to look.
type history struct {
	ring [historyPlans]committed
	next int
}

func (h *history) record(m *messages.CommitPlan) {
	c := committed{plan: m.Plan, unlocked: len(m.Unlocks), evicted: m.EvictPages, freed: len(m.Frees)}
	if m.EvictAll {
		c.evicted = -1
	}
	for i := range m.Inserts {
		c.inserted += len(m.Inserts[i].Pages) - m.Inserts[i].Owned
	}
	for _, r := range m.Reserves {
		c.reserved += r.Pages
	}
	h.ring[h.next%historyPlans] = c
	h.next++
}

// close adds the counters in the answer to the newest plan.
func (h *history) close(m *messages.PagesReserved) {
	c := &h.ring[(h.next+historyPlans-1)%historyPlans]
	c.closed, c.freeAfter, c.evictAfter, c.protAfter = true, m.Free, m.Cached.Evictable, m.Cached.Protected
}

// String lists the plans, the oldest first.
func (h *history) String() string {
	if h.next == 0 {
		return "none"
	}
	var b strings.Builder
	for i := max(0, h.next-historyPlans); i < h.next; i++ {
		c := h.ring[i%historyPlans]
		evict := "all"
		if c.evicted >= 0 {
			evict = fmt.Sprint(c.evicted)
		}
		fmt.Fprintf(&b, "; plan %d: inserted %d, unlocked %d, to evict %s, freed %d, reserved %d", c.plan, c.inserted, c.unlocked, evict, c.freed, c.reserved)
		if c.closed {
			fmt.Fprintf(&b, ", then free %d, evictable %d, protected %d", c.freeAfter, c.evictAfter, c.protAfter)
		}
	}
	return strings.TrimPrefix(b.String(), "; ")
}
