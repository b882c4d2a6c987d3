package portal

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// reportEvery is the time between two reports to gateways, that of a link's heartbeats.
const reportEvery = 250 * time.Millisecond

// stepped adds the time of a step that has computed prompts, or chunks of them.
func (c *Core) stepped(r *messages.StepResults) {
	m := &c.meter
	if r.Step == 0 {
		return
	}
	if m.prefilling > 0 || r.Computed > 0 {
		m.step(r.Computed, max(0, c.now-m.last))
	}
	m.last = c.now
}

// computed adds a prompt that is completed.
func (c *Core) computed(p *messages.PromptResult) {
	if o, ok := c.origins[p.ID]; ok {
		c.meter.prompt(int(o.tokens), p.CachedTokens)
	}
	c.advance(p.ID, running)
}

// advance moves a request to a later state. After a retraction it may come there again.
func (c *Core) advance(own messages.RequestID, to state) {
	o, ok := c.origins[own]
	if !ok || o.state >= to {
		return
	}
	c.count(&o, -1)
	o.state = to
	c.count(&o, 1)
	c.origins[own] = o
}

// forget takes a request that has ended out of the sums.
func (c *Core) forget(own messages.RequestID) {
	if o, ok := c.origins[own]; ok {
		c.count(&o, -1)
		delete(c.origins, own)
	}
}

// count adds a request to the sums, or takes it off with n -1.
func (c *Core) count(o *origin, n int) {
	for _, l := range [...]*messages.EngineLoad{&c.load, &o.gateway.load} {
		if o.state == running {
			l.Running += n
			l.RunningTokens += n * int(o.tokens)
		} else {
			l.Waiting += n
			l.WaitingTokens += n * int(o.tokens)
		}
	}
	if o.state == prefilling {
		c.meter.prefilling += n
	}
}

// startReports starts the timer, if it does not run.
func (c *Core) startReports(out *messages.Outbox) {
	if c.alarm == 0 {
		c.alarm = c.now + reportEvery
		out.After(reportEvery, &messages.ReportDue{At: c.alarm})
	}
}

// report tells each gateway of the others' requests, and of the speed. Of a prompt that
// waits it is not known how much is cached: as much as of recent ones.
func (c *Core) report(m *messages.ReportDue, out *messages.Outbox) {
	if m.At != c.alarm {
		return
	}
	c.alarm = 0
	if len(c.gateways) == 0 {
		return
	}
	c.startReports(out)
	if !c.up {
		return
	}
	speed, uncached := c.meter.rate, c.meter.uncached()
	for _, g := range c.inOrder() {
		others := c.load
		others.Waiting -= g.load.Waiting
		others.WaitingTokens = int(float64(others.WaitingTokens-g.load.WaitingTokens) * uncached)
		others.Running -= g.load.Running
		others.RunningTokens -= g.load.RunningTokens
		out.ToLink(&messages.EngineReported{Header: g.header, Others: others, Speed: speed, Gateways: len(c.gateways)})
	}
}

func (c *Core) checkLoad() {
	twin := Core{}
	loads := map[*gateway]messages.EngineLoad{}
	for _, o := range c.origins {
		alone := origin{gateway: &gateway{load: loads[o.gateway]}, tokens: o.tokens, state: o.state}
		twin.count(&alone, 1)
		loads[o.gateway] = alone.gateway.load
	}
	invariants.Check(c.load == twin.load && c.meter.prefilling == twin.meter.prefilling, "4: the load is %+v with %d in prefill, want %+v with %d",
		c.load, c.meter.prefilling, twin.load, twin.meter.prefilling)
	for slot, g := range c.gateways {
		invariants.Check(g.load == loads[g], "4: the load of gateway %d is %+v, want %+v", slot, g.load, loads[g])
	}
}
