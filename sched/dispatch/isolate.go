package dispatch

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// isolate chooses an engine for a quarantined request, and has it release all others.
// While another one has an engine, or no engine fits, the request is only held.
func (c *Core) isolate(r *messages.EngineRequest, out *messages.Outbox) {
	if c.alone.id != 0 {
		return
	}
	i, ok := c.router.Idlest(func(i int) bool { return c.engines[i].fits(r) })
	if !ok {
		return
	}
	c.alone = isolation{id: r.ID, engine: i}
	ids := slices.DeleteFunc(c.router.Requests(i), func(id messages.RequestID) bool {
		_, moves := c.moving[id]
		return moves
	})
	c.release(i, ids, out)
}

// giveAlone gives the quarantined request to its engine when that is empty.
func (c *Core) giveAlone(out *messages.Outbox) {
	a := &c.alone
	if a.id == 0 || a.given {
		return
	}
	if l := c.router.Load(a.engine); l.Waiting+l.Running > 0 {
		return
	}
	at := slices.IndexFunc(c.held, func(r *messages.EngineRequest) bool { return r.ID == a.id })
	r := c.held[at]
	c.held = slices.Delete(c.held, at, at+1)
	c.route(r, func(i int) bool { return i == a.engine })
	a.given = true
	out.ToQueue(&messages.EnqueueRequests{Header: c.engines[a.engine].header, Requests: []*messages.EngineRequest{r}})
}

// isolated follows results of the engine that is kept. The isolation ends with the
// request's first token or with its end.
func (c *Core) isolated(over bool, out *messages.Outbox) {
	if c.alone.given {
		_, open := c.router.Replica(c.alone.id)
		over = over || !open
	}
	if over {
		c.endIsolation(out)
	} else {
		c.giveAlone(out)
	}
}

// endIsolation lets others use the engine, or the next quarantined request.
func (c *Core) endIsolation(out *messages.Outbox) {
	i := c.alone.engine
	c.alone = isolation{}
	c.retry(out)
	if c.engines[i].up {
		c.share(i, out)
	}
}
