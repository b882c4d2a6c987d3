package request

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// startEpoch submits every unfinished request to a new epoch, in arrival order and
// with its output so far. A quarantined one goes first, alone.
func (c *Core) startEpoch(engine messages.Header, out *messages.Outbox) {
	if !c.table.engine.start(engine) {
		out.Record(messages.StaleMessages, 1)
		return
	}
	c.leaveEngine()
	c.takeWaiting()
}

// endEpoch handles the end of an epoch's actors. A suspect that was isolated and
// made no progress ends here; all others go on in the next epoch.
func (c *Core) endEpoch(now time.Duration, m *messages.EpochEnded, out *messages.Outbox) {
	t := c.table
	isolated, ok := t.engine.end(m.Header)
	if !ok {
		out.Record(messages.StaleMessages, 1)
		return
	}
	cause, _, _ := strings.Cut(m.Cause, "\n") // the rest is for the log
	counted := map[messages.RequestID]bool{}
	for _, id := range m.Suspects {
		e := t.entries[id]
		if e == nil || e.finish != nil || counted[id] {
			continue
		}
		counted[id] = true
		e.suspicion++
		if id == isolated {
			c.finish(now, e, &messages.Finish{Reason: messages.FinishError, MatchedToken: -1, Message: fmt.Sprintf(
				"the request could not be computed: the engine failed %d times in a row while it ran, the last time with no other request (%s); other requests are not affected",
				e.suspicion, cause)}, out)
		}
	}
	c.leaveEngine()
}

// leaveEngine takes every request out of an engine whose epoch has ended, and
// answers the open questions. It delivers the ends that were not delivered
// because intake panicked; other undelivered output goes with the next token.
func (c *Core) leaveEngine() {
	t := c.table
	for _, e := range t.inOrder() {
		if e.place != placeEngine {
			continue
		}
		if e.finish != nil {
			e.become(placeNone)
			t.drop(e)
		} else {
			e.become(placeWaiting)
		}
	}
	for id, question := range t.tickets {
		refuse(question, "the engine restarted before the cache was flushed; the restart has emptied the cache")
		delete(t.tickets, id)
	}
	for _, e := range t.inOrder() {
		if e.finish != nil {
			c.emit(e)
			t.drop(e)
		}
	}
}
