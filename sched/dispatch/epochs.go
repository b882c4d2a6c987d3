package dispatch

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

// join adds an engine, which is down until its first epoch starts.
func (c *Core) join(m *messages.EngineJoined, out *messages.Outbox) {
	i := int(m.Engine)
	if m.Engine >= Self {
		invariants.Fail("engine %d joins; slots are below %d", i, Self)
	}
	for len(c.engines) <= i { // links of other slots may be slower
		c.engines = append(c.engines, engine{})
	}
	c.engineDown(i, &messages.EpochEnded{Cause: "the engine has joined again"}, out) // if its end was missed
	c.engines[i].facts, c.engines[i].joined, c.engines[i].portal = m.Facts, true, true
	c.router.Join(i)
	c.router.SetAvailable(i, false)
}

// leave makes an engine unavailable until it joins again.
func (c *Core) leave(m *messages.EngineLeft, out *messages.Outbox) {
	if int(m.Engine) >= len(c.engines) {
		out.Record(messages.StaleMessages, 1)
		return
	}
	end := &messages.EpochEnded{Cause: m.Cause}
	if !m.NoSuspects {
		end.Suspects, end.Unsure = c.suspects(int(m.Engine))
	}
	c.engineDown(int(m.Engine), end, out)
	e := &c.engines[m.Engine]
	e.facts, e.joined, e.gateways = messages.EngineFacts{}, false, 0
}

// suspects are the requests that an engine may have died of: those that it had admitted.
// If there are none, and it has no other gateway, it has probably died before it could report them.
func (c *Core) suspects(engine int) (ids []messages.RequestID, unsure bool) {
	all := c.router.Requests(engine)
	for _, id := range all {
		if _, ok := c.admitted[id]; ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 && c.engines[engine].gateways == 1 {
		return all, true
	}
	return ids, false
}

func (c *Core) reported(m *messages.EngineReported, out *messages.Outbox) {
	if int(m.Engine) >= len(c.engines) || !c.engines[m.Engine].up {
		out.Record(messages.StaleMessages, 1)
		return
	}
	c.engines[m.Engine].gateways = m.Gateways
	c.router.Reported(int(m.Engine), route.Report{Others: m.Others, Speed: m.Speed})
}

// engineUp makes an engine's new epoch available. The first one lets intake submit, and
// gets the requests that were held. One that has not joined has a link that an earlier
// incarnation began: it is about to end, and the engine's facts are not known.
func (c *Core) engineUp(h messages.Header, out *messages.Outbox) {
	if int(h.Engine) >= len(c.engines) || !c.engines[h.Engine].joined || h.Epoch <= c.engines[h.Engine].header.Epoch {
		out.Record(messages.StaleMessages, 1)
		return
	}
	c.engineDown(int(h.Engine), &messages.EpochEnded{Cause: "the engine has restarted"}, out) // if its end was missed
	c.engines[h.Engine] = engine{facts: c.engines[h.Engine].facts, joined: true, portal: c.engines[h.Engine].portal, gateways: c.engines[h.Engine].gateways, header: h, up: true}
	c.router.SetAvailable(int(h.Engine), true)
	if !c.started {
		c.start(out)
	}
	c.retry(out)
	c.share(int(h.Engine), out)
}

func (c *Core) engineEnded(m *messages.EpochEnded, out *messages.Outbox) {
	if int(m.Engine) >= len(c.engines) || m.Epoch != c.engines[m.Engine].header.Epoch || !c.engines[m.Engine].up {
		out.Record(messages.StaleMessages, 1)
		return
	}
	if m.Requests != nil {
		c.partDown(m, out)
		return
	}
	c.engineDown(int(m.Engine), m, out)
}

// partDown returns the requests that a process with several engines has lost with one of
// them to intake.
func (c *Core) partDown(m *messages.EpochEnded, out *messages.Outbox) {
	i := int(m.Engine)
	if c.engines[i].broken || !c.follows(i, m.Seq, out) {
		return
	}
	var lost []messages.RequestID
	for _, id := range m.Requests {
		if at, given := c.router.Replica(id); given && at == i {
			c.router.Ended(id)
			delete(c.admitted, id)
			delete(c.moving, id)
			lost = append(lost, id)
		}
	}
	c.giveBack(&messages.EpochEnded{Cause: m.Cause, Suspects: m.Suspects, Requests: lost}, out)
	if c.keeps(i) {
		c.isolated(false, out)
	}
}

// engineDown makes an engine unavailable and returns its requests to intake.
func (c *Core) engineDown(i int, m *messages.EpochEnded, out *messages.Outbox) {
	if !c.engines[i].up {
		return
	}
	c.engines[i].up = false
	if !c.anyUp() {
		c.down = c.now
	}
	c.abandon(i, out)
	c.skipList(i, out)
	lost := c.router.Lost(i)
	for _, id := range lost {
		delete(c.admitted, id)
		delete(c.moving, id)
	}
	c.giveBack(&messages.EpochEnded{Cause: m.Cause, Suspects: m.Suspects, Unsure: m.Unsure, Requests: lost}, out)
	if c.keeps(i) {
		c.endIsolation(out)
	}
	c.expire(out)
}

// startOver ends the present epoch of every engine and the incarnation that intake sees,
// so intake submits everything again.
func (c *Core) startOver(m *messages.FailEpoch, out *messages.Outbox) {
	out.ToIntake(&messages.EpochEnded{Header: c.own, Cause: m.Cause, Suspects: m.Suspects})
	c.own.Epoch++
	if c.anyUp() {
		c.down = c.now
	}
	c.started, c.seq, c.held, c.sent, c.alone, c.listing = false, 0, nil, nil, isolation{}, listing{}
	clear(c.since)
	clear(c.asked) // intake answers them itself
	clear(c.admitted)
	clear(c.moving)
	for i := range c.engines {
		e := &c.engines[i]
		e.up = false
		c.router.Lost(i)
		out.ToSupervisor(&messages.FailEpoch{Header: messages.Header{Engine: messages.EngineID(i), Epoch: e.header.Epoch}, From: messages.Dispatch, Cause: m.Cause, Planned: m.Planned})
	}
	if c.opt.ResumeWait > 0 {
		c.start(out)
	}
}
