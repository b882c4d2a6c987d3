package dispatch

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

// enqueue gives each engine its new requests in one message, and holds those that no
// engine can have at present.
func (c *Core) enqueue(requests []*messages.EngineRequest, out *messages.Outbox) {
	share := make([][]*messages.EngineRequest, len(c.engines))
	for _, r := range requests {
		q := route.Request{ID: r.ID, Tokens: len(r.Prompt), Fits: func(i int) bool { return c.engines[i].fits(r) }}
		if c.opt.Pages != nil {
			q.Pages = c.opt.Pages(r)
		}
		to, ok := c.router.Route(q)
		if !ok {
			c.held = append(c.held, r)
			continue
		}
		share[to.Replica] = append(share[to.Replica], r)
	}
	for i, mine := range share {
		if len(mine) > 0 {
			out.ToQueue(&messages.EnqueueRequests{Header: c.engines[i].header, Requests: mine})
		}
	}
}

// finish passes on the end of requests to their engines. What no engine has is
// acknowledged at once, known or not, as an engine does.
func (c *Core) finish(ids []messages.RequestID, out *messages.Outbox) {
	share := make([][]messages.RequestID, len(c.engines))
	var ended []messages.RequestEnded
	for _, id := range ids {
		delete(c.moving, id) // it ends instead
		if i, ok := c.router.Replica(id); ok {
			share[i] = append(share[i], id)
			continue
		}
		c.held = slices.DeleteFunc(c.held, func(r *messages.EngineRequest) bool { return r.ID == id })
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
}
