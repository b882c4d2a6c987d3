package dispatch

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

// enqueue gives new requests to engines, each engine its own in one message, or
// holds them while no engine is up.
func (c *Core) enqueue(requests []*messages.EngineRequest, out *messages.Outbox) {
	if !c.anyUp() {
		c.held = append(c.held, requests...)
		return
	}
	share := make([][]*messages.EngineRequest, len(c.engines))
	for _, r := range requests {
		q := route.Request{ID: r.ID, Tokens: len(r.Prompt)}
		if c.opt.Pages != nil {
			q.Pages = c.opt.Pages(r)
		}
		to, _ := c.router.Route(q) // an engine is up
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

// engineUp makes an engine's new epoch available. The first one lets intake submit, and
// gets the requests that were held.
func (c *Core) engineUp(h messages.Header, out *messages.Outbox) {
	if int(h.Engine) >= len(c.engines) || h.Epoch <= c.engines[h.Engine].header.Epoch {
		out.Record(messages.StaleMessages, 1)
		return
	}
	c.engineDown(int(h.Engine), &messages.EpochEnded{Cause: "the engine has restarted"}, out) // if its end was missed
	c.engines[h.Engine] = engine{header: h, up: true}
	c.router.SetAvailable(int(h.Engine), true)
	if !c.started {
		c.started = true
		out.ToIntake(&messages.EpochStarted{Header: c.own})
	}
	if held := c.held; len(held) > 0 {
		c.held = nil
		c.enqueue(held, out)
	}
}

func (c *Core) engineEnded(m *messages.EpochEnded, out *messages.Outbox) {
	if int(m.Engine) >= len(c.engines) || m.Epoch != c.engines[m.Engine].header.Epoch || !c.engines[m.Engine].up {
		out.Record(messages.StaleMessages, 1)
		return
	}
	c.engineDown(int(m.Engine), m, out)
}

// engineDown makes an engine unavailable and returns its requests to intake.
func (c *Core) engineDown(i int, m *messages.EpochEnded, out *messages.Outbox) {
	if !c.engines[i].up {
		return
	}
	c.engines[i].up = false
	c.abandon(i, out)
	lost := c.router.Lost(i)
	if len(lost) == 0 {
		return
	}
	c.seq++
	out.ToIntake(&messages.EpochEnded{Header: c.own, Seq: c.seq, Cause: m.Cause, Suspects: m.Suspects, Requests: lost})
}

// startOver ends the present epoch of every engine and the incarnation that intake sees,
// so intake submits everything again.
func (c *Core) startOver(cause string, suspects []messages.RequestID, out *messages.Outbox) {
	out.ToIntake(&messages.EpochEnded{Header: c.own, Cause: cause, Suspects: suspects})
	c.own.Epoch++
	c.started, c.seq, c.held, c.sent = false, 0, nil, nil
	clear(c.asked) // intake answers them itself
	for i := range c.engines {
		e := &c.engines[i]
		e.up = false
		c.router.Lost(i)
		out.ToSupervisor(&messages.FailEpoch{Header: messages.Header{Engine: messages.EngineID(i), Epoch: e.header.Epoch}, From: messages.Dispatch, Cause: cause})
	}
}
