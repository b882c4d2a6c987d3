package request

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// startEpoch submits every unfinished request to an epoch that stands, in
// arrival order, prompt and output apart; a quarantined one first, by itself.
func (c *Core) startEpoch(engine messages.Header, out *messages.Outbox) {
	t := c.table
	if engine.Epoch <= t.engine.Epoch {
		out.Record(messages.StaleMessages, 1)
		return
	}
	c.leaveEngine()
	t.engine, t.standing, t.broken, t.seq = engine, true, false, 0
	c.takeWaiting()
}

// endEpoch takes note that an epoch's actors are gone. A suspect that was
// isolated and made no progress ends here; nobody else does.
func (c *Core) endEpoch(now time.Duration, m *messages.EpochEnded, out *messages.Outbox) {
	t := c.table
	if m.Epoch < t.engine.Epoch || m.Epoch == t.engine.Epoch && !t.standing {
		out.Record(messages.StaleMessages, 1)
		return
	}
	t.engine = m.Header
	cause, _, _ := strings.Cut(m.Cause, "\n") // the rest is for the log
	counted := map[messages.RequestID]bool{}
	for _, id := range m.Suspects {
		e := t.entries[id]
		if e == nil || e.finish != nil || counted[id] {
			continue
		}
		counted[id] = true
		e.suspicion++
		if id == t.isolated {
			c.fixEnd(now, e, &messages.Finish{Reason: messages.FinishError, MatchedToken: -1, Message: fmt.Sprintf(
				"the request could not be computed: the engine failed %d times in a row while it ran, the last time with nothing beside it (%s); other requests are not affected",
				e.suspicion, cause)}, out)
		}
	}
	c.leaveEngine()
}

// leaveEngine takes every request out of an engine that is no more, answers the
// questions that it will not, and delivers the ends that a panic of intake kept
// from being delivered; other undelivered output goes with the next token.
func (c *Core) leaveEngine() {
	t := c.table
	t.standing, t.isolated = false, 0
	for _, e := range t.inOrder() {
		if e.place != placeEngine {
			continue
		}
		if e.finish != nil {
			e.become(placeNone)
			t.settle(e)
		} else {
			e.become(placeWaiting)
		}
	}
	for id, k := range t.tickets {
		k.lost()
		delete(t.tickets, id)
	}
	for _, e := range t.inOrder() {
		if e.finish != nil {
			c.emit(e)
			t.settle(e)
		}
	}
}
