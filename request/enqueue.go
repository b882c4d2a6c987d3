package request

import "github.com/troupe-engine/troupe/messages"

// quarantined: the request was in too many crashes without progress.
func (c *Core) quarantined(e *entry) bool { return e.suspicion >= c.table.opt.SuspectLimit }

// submitFresh sends the requests that became ready to the engine, unless they have
// ended since. While a quarantined request is isolated, all others wait: if the engine
// crashes then, that request is the cause.
func (c *Core) submitFresh(out *messages.Outbox) {
	t := c.table
	if !t.engine.up {
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
		Params: e.params, Namespace: e.sub.Namespace, Priority: e.sub.Priority, Tenant: e.sub.Tenant, Arrived: e.arrived, Alone: c.quarantined(e)}
}

// sendCancelled asks the engine to release requests, with one message per call of
// Handle.
func (c *Core) sendCancelled(out *messages.Outbox) {
	if len(c.cancelled) > 0 {
		out.ToQueue(&messages.FinishRequests{Header: c.table.engine.header, IDs: append([]messages.RequestID(nil), c.cancelled...)})
	}
}
