package request

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// placeInQueue finds room for a call among the requests that wait: enough of it,
// or the requests of a lower priority that give way, or a refusal.
func (t *Table) placeInQueue(m *messages.SubmitRequests) ([]*entry, *messages.CallRefused) {
	over := t.line.requests + len(m.Requests) - t.opt.MaxQueuedRequests
	if t.opt.MaxQueuedRequests == 0 || over <= 0 {
		return nil, nil
	}
	if t.opt.Oust {
		if lower := t.lowerThan(m); len(lower) >= over {
			return lower[:over], nil
		}
	}
	return nil, t.busy(&m.Requests[0], over, fmt.Sprintf("%d requests wait and %d more were sent, the server lets at most %d wait (max-queued-requests)",
		t.line.requests, len(m.Requests), t.opt.MaxQueuedRequests))
}

// lowerThan lists the waiting requests that every request of a call goes before,
// the lowest priority first, of equal ones the latest.
func (t *Table) lowerThan(m *messages.SubmitRequests) []*entry {
	least := t.rank(m.Requests[0].Priority)
	for i := range m.Requests {
		least = min(least, t.rank(m.Requests[i].Priority))
	}
	var lower []*entry
	for _, e := range t.entries {
		if e.waits && t.rank(e.sub.Priority) < least {
			lower = append(lower, e)
		}
	}
	slices.SortFunc(lower, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(t.rank(a.sub.Priority), t.rank(b.sub.Priority)), cmp.Compare(b.id, a.id))
	})
	return lower
}

// rank orders priorities, higher first whatever the setting.
func (t *Table) rank(priority int32) int64 {
	if t.opt.LowFirst {
		return -int64(priority)
	}
	return int64(priority)
}

// oust ends requests that wait, for a call that goes before them.
func (c *Core) oust(now time.Duration, ousted []*entry, out *messages.Outbox) {
	for _, e := range ousted {
		c.giveUp(now, e, messages.RefusedBusy,
			"the request left the waiting queue for one of higher priority (max-queued-requests); send it again later", out)
	}
}
