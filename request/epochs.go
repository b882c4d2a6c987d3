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
	if m.Requests != nil {
		c.endPart(now, m, out)
		return
	}
	isolated, ok := t.engine.end(m.Header)
	if !ok {
		out.Record(messages.StaleMessages, 1)
		return
	}
	c.countSuspects(now, m, isolated, out)
	c.leaveEngine()
}

// endPart handles the loss of one of several engines. Its requests are submitted
// again at once; all others continue.
func (c *Core) endPart(now time.Duration, m *messages.EpochEnded, out *messages.Outbox) {
	t := c.table
	if m.Header != t.engine.header || !t.engine.answers() || m.Seq <= t.engine.seq {
		out.Record(messages.StaleMessages, 1)
		return
	}
	if m.Seq != t.engine.seq+1 {
		c.failEpoch(out, "the end of an engine is number %d and follows %d", m.Seq, t.engine.seq)
		return
	}
	c.countSuspects(now, m, t.engine.isolated, out)
	for _, id := range m.Requests {
		if e := t.entries[id]; e != nil && e.place == placeEngine {
			c.leave(e)
		}
	}
	t.engine.seq = m.Seq
	c.takeWaiting()
}

// countSuspects counts a crash for each suspect. One that was isolated and made no
// progress ends.
func (c *Core) countSuspects(now time.Duration, m *messages.EpochEnded, isolated messages.RequestID, out *messages.Outbox) {
	t := c.table
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
			c.finish(now, e, messages.Finish{Reason: messages.FinishError, MatchedToken: -1, Message: fmt.Sprintf(
				"the request could not be computed: the engine failed %d times in a row while it ran, the last time with no other request (%s); other requests are not affected",
				e.suspicion, cause)}, out)
		}
	}
}

// leave removes a request from an engine that has lost it. If the request has not ended,
// it waits to be submitted again. Otherwise it is done, and its end is delivered if
// intake panicked before; other undelivered output goes with the next token.
func (c *Core) leave(e *entry) {
	switch {
	case e.finish == nil && e.place == placeEngine:
		e.become(placeWaiting)
	case e.finish != nil:
		if e.place == placeEngine {
			e.become(placeNone)
		}
		c.deliver(e)
	}
}

// leaveEngine takes every request out of an engine whose epoch has ended, and answers
// the open questions.
func (c *Core) leaveEngine() {
	t := c.table
	for _, e := range t.inOrder() {
		c.leave(e)
	}
	for id, question := range t.tickets {
		refuse(question, "the engine restarted before the cache was flushed; the restart has emptied the cache")
		delete(t.tickets, id)
	}
}
