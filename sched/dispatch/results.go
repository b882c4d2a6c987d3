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
	if !c.follows(int(m.Engine), m.Seq, out) {
		return
	}
	for _, id := range m.Admitted {
		c.admitted[id] = struct{}{}
	}
	over := false              // the quarantined request has a token
	for i := range m.Prompts { // not Tokens: this is done once per request
		c.router.Started(m.Prompts[i].ID)
		over = over || m.Prompts[i].ID == c.alone.id
	}
	c.seq++
	r := c.fresh()
	r.StepResults = *m
	r.Header, r.Seq, r.origin, r.Fingerprint = c.own, c.seq, m, e.facts.Fingerprint
	released := c.released(r)
	c.sent = append(c.sent, r)
	out.ToIntake(&r.StepResults)
	if len(released) > 0 { // otherwise the message would cost memory for each step
		c.giveBack(&messages.EpochEnded{Cause: "the request moves to another engine", Requests: released}, out)
	}
	if c.keeps(int(m.Engine)) {
		c.isolated(over, out)
	}
}

// follows reports whether results of an engine have the next number. If not, its epoch ends.
func (c *Core) follows(i int, seq uint64, out *messages.Outbox) bool {
	e := &c.engines[i]
	if seq == e.seq+1 {
		e.seq = seq
		return true
	}
	e.broken = true
	out.ToSupervisor(&messages.FailEpoch{Header: e.header, From: messages.Dispatch,
		Cause: fmt.Sprintf("step results %d came after %d; messages were lost or repeated", seq, e.seq)})
	return false
}

// released takes the requests that have ended out of the sums. It returns those that
// were to be moved, which do not end for intake. An end that the engine acknowledges again,
// asked for by intake and to move, has been reported.
func (c *Core) released(r *relayed) (moved []messages.RequestID) {
	all := r.Ended // the slice is the engine's
	for i := range all {
		e := &all[i]
		at, given := c.router.Replica(e.ID)
		given = given && at == int(r.origin.Engine)
		_, moves := c.moving[e.ID]
		moves = moves && given && e.Reason == messages.EndCancelled
		if given {
			c.router.Ended(e.ID)
			delete(c.admitted, e.ID)
			delete(c.moving, e.ID)
		}
		if moves {
			moved = append(moved, e.ID)
		}
		switch drop := moves || !given; {
		case drop && len(r.Ended) == len(all):
			r.Ended = slices.Clone(all[:i])
		case !drop && len(r.Ended) < len(all):
			r.Ended = append(r.Ended, *e)
		}
	}
	return moved
}

// giveBack returns requests to intake, which submits them again. Only these are suspects: an
// engine can also name one that has moved to another engine in the meantime.
func (c *Core) giveBack(m *messages.EpochEnded, out *messages.Outbox) {
	if len(m.Requests) > 0 {
		if len(m.Suspects) > 0 { // none, if requests have only moved
			m.Suspects = among(m.Suspects, m.Requests)
		}
		c.seq++
		m.Header, m.Seq = c.own, c.seq
		out.ToIntake(m)
	}
}

// among are the ids that are also in a list of others. It reuses ids.
func among(ids, others []messages.RequestID) []messages.RequestID {
	has := make(map[messages.RequestID]bool, len(others))
	for _, id := range others {
		has[id] = true
	}
	return slices.DeleteFunc(ids, func(id messages.RequestID) bool { return !has[id] })
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
// order, and does not return those of an epoch that has ended. A portal in this process
// would take them for results of its own engine.
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
	if e := &c.engines[origin.Engine]; e.up && !e.portal && e.header == origin.Header {
		out.ToFormer(origin)
	}
}

// cacheChanged passes on what an engine's cache holds to the router and the observer, and
// the list of what it held before to the router.
func (c *Core) cacheChanged(m *messages.CacheChanged, out *messages.Outbox) {
	if c.current(m.Header, out) == nil {
		return
	}
	c.router.Changed(int(m.Engine), m)
	if m.Seq > 0 {
		out.ToObserver(m)
	}
}
