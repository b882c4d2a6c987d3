package request

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// startEpoch submits every unfinished request to a new epoch, in arrival order and
// with its output so far. Quarantined ones go first, alone.
func (c *Core) startEpoch(m *messages.EpochStarted, out *messages.Outbox) {
	if !c.table.engine.start(m.Header) {
		out.Record(messages.StaleMessages, 1)
		return
	}
	c.table.engine.isolates = m.Isolates
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

// endPart handles the loss of one of several engines, whose requests are submitted again.
func (c *Core) endPart(now time.Duration, m *messages.EpochEnded, out *messages.Outbox) {
	t := c.table
	if m.Header != t.engine.header || !t.engine.answers() || m.Seq <= t.engine.seq {
		out.Record(messages.StaleMessages, 1)
		return
	}
	if m.Seq != t.engine.seq+1 {
		c.failEpoch(out, "message %d (an engine failed) came after message %d; messages were lost or repeated", m.Seq, t.engine.seq)
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
// progress ends, unless others are suspected with it. If it is not sure that the engine had
// begun with it, it gets one more try: a request of another gateway may have been the cause.
func (c *Core) countSuspects(now time.Duration, m *messages.EpochEnded, isolated messages.RequestID, out *messages.Outbox) {
	t := c.table
	cause, _, _ := strings.Cut(m.Cause, "\n") // the rest is for the log
	suspects := map[messages.RequestID]*entry{}
	var alone *entry
	for _, id := range m.Suspects {
		if e := t.entries[id]; e != nil && e.finish == nil && suspects[id] == nil {
			if id == isolated || t.engine.isolates && c.quarantined(e) {
				alone = e
			}
			suspects[id] = e
			e.suspicion++
		}
	}
	if e := alone; e != nil && len(suspects) == 1 && (!m.Unsure || e.suspicion > t.opt.SuspectLimit+1) {
		c.finish(now, e, messages.Finish{Reason: messages.FinishError, MatchedToken: -1, Message: fmt.Sprintf(
			"the engine failed %d times in a row while it computed this request, the last time with no other request (%s); this is probably a bug in the server: please report it, and do not send the request again unchanged",
			e.suspicion, cause)}, out)
	}
}

// leave removes a request from an engine that has lost it. If it has not ended, it waits
// to be submitted again. Otherwise its end is delivered if a panic of intake has
// prevented that; other undelivered output goes with the next token.
func (c *Core) leave(e *entry) {
	switch {
	case e.finish == nil && e.place == placeEngine:
		c.table.moves.move(e)
		e.become(placeWaiting)
	case e.finish != nil:
		if e.place == placeEngine {
			e.become(placeNone)
		}
		c.deliver(e)
	}
}

// leaveEngine takes every request out of an ended epoch's engine, and answers questions.
func (c *Core) leaveEngine() {
	t := c.table
	for _, e := range t.inOrder() {
		c.leave(e)
	}
	for id, question := range t.tickets {
		refuseQuestion(question, "the engine restarted before the cache was flushed; the restart has emptied the cache")
		delete(t.tickets, id)
	}
}

// quarantined: the request was in too many crashes without progress.
func (c *Core) quarantined(e *entry) bool { return e.suspicion >= c.table.opt.SuspectLimit }

// submitFresh sends the requests that became ready to the engine, unless they have
// ended since. While a quarantined request is isolated, all others wait: if the engine
// crashes then, that request is the cause. Dispatch does the same for one of its engines;
// it gets each quarantined request in a message of its own, in case that it panics.
func (c *Core) submitFresh(out *messages.Outbox) {
	t := c.table
	if !t.engine.up {
		return
	}
	if t.engine.isolates {
		for _, e := range c.fresh {
			if e.place == placeWaiting && e.finish == nil && c.quarantined(e) {
				out.ToQueue(&messages.EnqueueRequests{Header: t.engine.header, Requests: []*messages.EngineRequest{c.engineRequest(e)}})
			}
		}
		c.submitOthers(nil, out)
		return
	}
	if id := t.engine.isolated; id != 0 {
		if e := t.entries[id]; e != nil && e.place == placeEngine && c.quarantined(e) {
			return
		}
		t.engine.isolated = 0
		c.takeWaiting()
	}
	var requests []*messages.EngineRequest
	for _, e := range c.fresh {
		if e.place == placeWaiting && e.finish == nil && c.quarantined(e) {
			t.engine.isolated = e.id
			requests = append(requests, c.engineRequest(e))
			break
		}
	}
	c.submitOthers(requests, out)
}

// submitOthers sends requests, and unless one is isolated all that became ready.
func (c *Core) submitOthers(requests []*messages.EngineRequest, out *messages.Outbox) {
	t := c.table
	for _, e := range c.fresh {
		if t.engine.isolated == 0 && e.place == placeWaiting && e.finish == nil {
			requests = append(requests, c.engineRequest(e))
		}
	}
	if len(requests) > 0 {
		out.ToQueue(&messages.EnqueueRequests{Header: t.engine.header, Requests: requests})
	}
}

// takeWaiting makes every waiting request fresh, in arrival order.
func (c *Core) takeWaiting() {
	c.fresh = c.fresh[:0]
	for _, e := range c.table.inOrder() {
		if e.place == placeWaiting {
			c.fresh = append(c.fresh, e)
		}
	}
}

// engineRequest submits a request with the output so far. The result is frozen.
func (c *Core) engineRequest(e *entry) *messages.EngineRequest {
	e.become(placeEngine)
	e.cancelled = false
	return &messages.EngineRequest{ID: e.id, Prompt: e.sub.Prompt, Output: e.output[:len(e.output):len(e.output)],
		Params: e.params, Namespace: e.sub.Namespace, Priority: e.sub.Priority, Tenant: e.sub.Tenant, Arrived: e.arrived, Alone: c.quarantined(e), Fingerprint: e.fingerprint}
}
