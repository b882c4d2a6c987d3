package dispatch

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

// enqueue gives each engine its new requests in one message, and holds those that no
// engine can have at present.
func (c *Core) enqueue(requests []*messages.EngineRequest, out *messages.Outbox) {
	for _, r := range requests {
		if r.Alone {
			c.isolate(r, out)
		}
	}
	share := make([][]*messages.EngineRequest, len(c.engines))
	for _, r := range requests {
		to, ok := -1, false
		if !r.Alone {
			to, ok = c.route(r, func(i int) bool { return c.engines[i].fits(r) && !c.keeps(i) })
		}
		if ok {
			share[to] = append(share[to], r)
		} else {
			c.held = append(c.held, r)
		}
	}
	for i, mine := range share {
		if len(mine) > 0 {
			out.ToQueue(&messages.EnqueueRequests{Header: c.engines[i].header, Requests: mine})
		}
	}
	c.giveAlone(out)
	c.expire(out)
}

// route chooses the engine of a request and charges it.
func (c *Core) route(r *messages.EngineRequest, fits func(engine int) bool) (engine int, ok bool) {
	q := route.Request{ID: r.ID, Tokens: len(r.Prompt), Fits: fits}
	if c.opt.Pages != nil {
		q.Pages = c.opt.Pages(r)
	}
	to, ok := c.router.Route(q)
	if ok && len(c.since) > 0 {
		delete(c.since, r.ID)
	}
	return to.Replica, ok
}

// retry offers the held requests to the engines again.
func (c *Core) retry(out *messages.Outbox) {
	if held := c.held; len(held) > 0 {
		c.held = nil
		c.enqueue(held, out)
	}
}

// release has an engine release requests, which then go back to intake.
func (c *Core) release(engine int, ids []messages.RequestID, out *messages.Outbox) {
	if len(ids) == 0 {
		return
	}
	for _, id := range ids {
		c.moving[id] = struct{}{}
	}
	out.ToQueue(&messages.FinishRequests{Header: c.engines[engine].header, IDs: ids})
}

// finish passes on the end of requests to their engines. What no engine has is
// acknowledged at once, known or not, as an engine does.
func (c *Core) finish(ids []messages.RequestID, out *messages.Outbox) {
	share := make([][]messages.RequestID, len(c.engines))
	var ended []messages.RequestEnded
	over := false
	for _, id := range ids {
		delete(c.moving, id) // it ends instead
		if i, ok := c.router.Replica(id); ok {
			share[i] = append(share[i], id)
			continue
		}
		c.held = slices.DeleteFunc(c.held, func(r *messages.EngineRequest) bool { return r.ID == id })
		delete(c.since, id)
		over = over || c.alone.id == id
		ended = append(ended, messages.RequestEnded{ID: id, Reason: messages.EndCancelled})
	}
	for i, mine := range share {
		if len(mine) > 0 {
			out.ToQueue(&messages.FinishRequests{Header: c.engines[i].header, IDs: mine})
		}
	}
	if len(ended) > 0 {
		c.seq++
		out.ToIntake(&messages.StepResults{Header: c.own, Seq: c.seq, Ended: ended})
	}
	if over {
		c.endIsolation(out)
	}
}

// share has the other engines release a part of the requests that they have not admitted,
// the newest ones, so that an engine that is new gets as much as they keep.
func (c *Core) share(to int, out *messages.Outbox) {
	if c.keeps(to) {
		return
	}
	waiting := make([][]messages.RequestID, len(c.engines))
	up := 0
	for i := range c.engines {
		if !c.engines[i].up || c.keeps(i) {
			continue
		}
		up++
		for _, id := range c.router.Requests(i) {
			_, admitted := c.admitted[id]
			if _, moves := c.moving[id]; !admitted && !moves && i != to {
				waiting[i] = append(waiting[i], id)
			}
		}
	}
	for i, ids := range waiting {
		c.release(i, ids[len(ids)-len(ids)/max(up, 1):], out)
	}
}
