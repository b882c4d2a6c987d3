package dispatch

import (
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// mostSpare bounds the relayed results that are kept for reuse.
const mostSpare = 8

// relay passes an engine's results on under dispatch's own number.
func (c *Core) relay(m *messages.StepResults, out *messages.Outbox) {
	e := c.current(m.Header, out)
	if e == nil {
		return
	}
	if m.Seq != e.seq+1 {
		e.broken = true
		out.ToSupervisor(&messages.FailEpoch{Header: e.header, From: messages.Dispatch,
			Cause: fmt.Sprintf("step results %d came after %d; messages were lost or repeated", m.Seq, e.seq)})
		return
	}
	e.seq = m.Seq
	for i := range m.Prompts { // not Tokens: this is done once per request
		c.router.Started(m.Prompts[i].ID)
	}
	for i := range m.Ended {
		c.router.Ended(m.Ended[i].ID)
	}
	c.seq++
	r := c.fresh()
	r.StepResults = *m
	r.Header, r.Seq, r.origin = c.own, c.seq, m
	c.sent = append(c.sent, r)
	out.ToIntake(&r.StepResults)
}

func (c *Core) fresh() *relayed {
	n := len(c.spare)
	if n == 0 {
		return &relayed{}
	}
	r := c.spare[n-1]
	c.spare = c.spare[:n-1]
	return r
}

// returned sends results back to the engine that they came from. Intake returns them in
// order, and does not return those of an epoch that has ended.
func (c *Core) returned(m *messages.StepResults, out *messages.Outbox) {
	at := slices.IndexFunc(c.sent, func(r *relayed) bool { return &r.StepResults == m })
	if at < 0 {
		return // of an earlier incarnation, or dispatch's own acknowledgement
	}
	r := c.sent[at]
	c.sent = slices.Delete(c.sent, 0, at+1)
	origin := r.origin
	*r = relayed{}
	if len(c.spare) < mostSpare {
		c.spare = append(c.spare, r)
	}
	if e := &c.engines[origin.Engine]; e.up && e.header == origin.Header {
		out.ToFormer(origin)
	}
}

// cacheChanged passes on what an engine's cache holds to the router and the observer.
func (c *Core) cacheChanged(m *messages.CacheChanged, out *messages.Outbox) {
	if c.current(m.Header, out) == nil {
		return
	}
	c.router.Changed(int(m.Engine), m)
	out.ToObserver(m)
}
