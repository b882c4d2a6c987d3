package dispatch

import "github.com/troupe-engine/troupe/messages"

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
