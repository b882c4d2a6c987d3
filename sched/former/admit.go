package former

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// ask starts an admission: with the head of the queue, or retracted sequences alone.
func (c *Core) ask(v *snapshot, out *messages.Outbox) (again bool) {
	if c.admission.asksQueue(v) {
		out.ToQueue(&messages.OfferCandidates{Plan: c.plan.id, Limit: c.admission.offerLimit(v)})
		c.phase.to(offering)
		return false
	}
	return c.choose(nil, out)
}

func (c *Core) candidatesOffered(m *messages.CandidatesOffered, out *messages.Outbox) {
	c.must(c.phase == offering && m.Plan == c.plan.id, "CandidatesOffered")
	c.admission.queued = m.Waiting > 0
	c.choose(m.Requests, out)
}

// choose makes candidates and asks the cache for their prefixes if anything may match.
func (c *Core) choose(offered []*messages.EngineRequest, out *messages.Outbox) (again bool) {
	c.batch.age(c.now)
	v := c.snapshot()
	c.admission.choose(&v, &c.pressure, offered, c.flight.done)
	candidates := c.admission.candidates
	if c.opt.CacheDisabled || len(candidates) == 0 {
		c.admit(make([]messages.PrefixLocked, len(candidates)), out)
		return c.commit(out)
	}
	m := &messages.LockPrefixes{Plan: c.plan.id, Prefixes: make([]messages.PrefixLock, len(candidates))}
	for i := range candidates {
		s := candidates[i].seq
		m.Prefixes[i] = messages.PrefixLock{ID: s.req.ID, Namespace: s.req.Namespace, Tokens: s.tokens[:len(s.tokens):len(s.tokens)], Limit: s.matchLimit()}
	}
	out.ToCache(m)
	c.phase.to(locking)
	return false
}

func (c *Core) prefixesLocked(m *messages.PrefixesLocked, out *messages.Outbox) {
	c.must(c.phase == locking && m.Plan == c.plan.id && len(m.Matches) == len(c.admission.candidates), "PrefixesLocked")
	c.pages.cached = m.Cached
	c.admit(m.Matches, out)
	c.commit(out)
}

// admit does what admission decides about the candidates. matches are theirs; the
// ledger's counters are those after locking.
func (c *Core) admit(matches []messages.PrefixLocked, out *messages.Outbox) {
	r := round{snapshot: c.snapshot(), admission: &c.admission, pressure: &c.pressure}
	r.left = r.headroom()
	c.admission.producers.find(&r.snapshot, c.flight.done)
	defer c.admission.producers.forget()
	asked, hit := 0, 0 // tokens, of admitted ones only: a candidate is looked up as often as it is offered
	var claimed []messages.RequestID
	for i := range c.admission.candidates {
		s, match := c.admission.candidates[i].seq, &matches[i]
		need := r.need(s) - len(match.Pages)
		d := r.decide(&c.admission.candidates[i], need)
		c.preempt(d.victims, r.left, out)
		if d.short > 0 {
			c.admission.block = headOfLineBlock{s.req.ID, d.short}
		}
		switch d.verdict {
		case admit:
			if s.state == candidate { // its request is still in the queue
				claimed = append(claimed, s.req.ID)
			}
			row, ok := c.pages.rows.Take()
			invariants.Check(ok, "request %d is admitted without a free row", s.req.ID)
			c.batch.admit(s, row, match, c.now)
			if !c.opt.CacheDisabled {
				asked, hit = asked+s.matchLimit(), hit+len(match.Pages)*c.opt.PageSize
			}
			r.admitted(s, need)
			continue
		case discard:
			c.end(s)
		}
		c.pages.unlock(match)
	}
	c.admission.forget()
	if asked > 0 {
		out.Record(messages.CacheQueryTokens, float64(asked))
		out.Record(messages.CacheHitTokens, float64(hit))
	}
	if len(claimed) > 0 {
		out.ToQueue(&messages.ClaimCandidates{IDs: claimed})
		c.reports.newlyAdmitted = append(c.reports.newlyAdmitted, claimed...)
	}
}

// preempt retracts sequences for a candidate. headroom is what admission expects then.
func (c *Core) preempt(victims []victim, headroom int, out *messages.Outbox) {
	if len(victims) == 0 {
		return
	}
	c.retract(victims, out)
	if invariants.Enabled {
		v := c.snapshot()
		invariants.Check(headroom == v.headroom(), "preemption brought a headroom of %d, want %d", v.headroom(), headroom)
	}
}
