package former

import "github.com/troupe-engine/troupe/messages"

// pressure decides what happens when memory is short: which running requests are
// retracted, for others that run or for a waiting one of a higher priority, and
// how much output is expected of requests afterwards.
//
// A waiting request preempts running ones whose priority is lower by more than the
// threshold: those of the lowest priority first, of these the latest, until its need is
// covered, or none at all (PrefillAdder.preempt_to_schedule, items 22, 29 and 30). What
// counts is what the victims held and were expected to need, not what the newcomer needs.
// Victims are admitted again before new requests of their priority and after the
// newcomer, so that none is preempted twice for the same one. A sequence that has waited
// for Aging is not preempted for as long, so that none starves.
//
// No lease is taken away while a step is in flight: the next plan waits for it.
type pressure struct {
	opt   *Options
	ratio newTokenRatio
	// preemptionPending: a sequence would be preempted if no step were in flight.
	preemptionPending bool
	sinceForced       int      // steps since the last forced retraction
	victims           []victim // reused
}

func newPressure(opt *Options) pressure { return pressure{opt: opt, ratio: newRatio(opt)} }

// choose returns the victims when the running batch lacks pages: as few as possible,
// those with the fewest tokens to compute again per page. At least one sequence goes on.
func (p *pressure) choose(v *snapshot, need int) []victim {
	if v.active() <= 1 {
		return nil
	}
	list := cover(p.retractable(v, need, true), need, cheapest(need))
	return list[:min(len(list), v.active()-1)]
}

// retractable lists running sequences as victims for a need, with or without those
// in prefill. The list is valid until the next one is made.
func (p *pressure) retractable(v *snapshot, need int, prompts bool) []victim {
	p.victims = p.victims[:0]
	for _, s := range v.running {
		if s.state == decoding || prompts && s.state == prefilling {
			p.victims = append(p.victims, newVictim(s, need, v.opt))
		}
	}
	return p.victims
}

// preempt lists the sequences that a waiting request preempts to get pages, and at
// least one row. It is empty if all of them together do not have enough. While a
// step is in flight it is also empty; preemptionPending then says that there will be
// victims. The list is valid until the next one is made.
func (p *pressure) preempt(v *snapshot, r *messages.EngineRequest, pages int) []victim {
	if !v.opt.PriorityPreemption {
		return nil
	}
	list, all := p.victims[:0], 0
	for _, s := range v.running {
		if s.active() && v.now >= s.protectedUntil && v.opt.rank(r)-v.opt.rank(s.req) > v.opt.PreemptionThreshold {
			found := victim{s: s, rank: v.opt.rank(s.req), frees: v.reclaimable(s)}
			list, all = append(list, found), all+found.frees
		}
	}
	p.victims = list
	if all < pages || len(list) == 0 {
		return nil
	}
	if !v.settled {
		p.preemptionPending = true
		return nil
	}
	return cover(list, pages, latest)
}

// measure sets the new-token ratio after a retraction, by what the others produced.
func (p *pressure) measure(running []*sequence) {
	requests, produced, limit := 0, 0, 0
	for _, s := range running {
		if s.active() {
			requests, produced, limit = requests+1, produced+s.output(), limit+min(s.req.Params.MaxTokens, maxExpected)
		}
	}
	p.ratio.retracted(requests, produced, limit)
}

// ended adds the output of a request that has ended to the ratio's mean.
func (p *pressure) ended(s *sequence) {
	if n := s.output(); n > 0 {
		p.ratio.ended(n, min(s.req.Params.MaxTokens, maxExpected))
	}
}

func (p *pressure) stepped(retracted bool) {
	p.sinceForced++
	if !retracted {
		p.ratio.step()
	}
}

// forcedDue reports whether RetractEvery asks for a retraction.
func (p *pressure) forcedDue() bool {
	return p.opt.RetractEvery > 0 && p.sinceForced >= p.opt.RetractEvery
}

// forced returns the decoding sequence that is retracted by force, even if it is the
// only one that runs: the next plan admits it again. It has got a token since its
// admission, so forced retractions never undo all progress.
func (p *pressure) forced(v *snapshot) []victim {
	if !p.forcedDue() {
		return nil
	}
	list := p.retractable(v, 1, false)
	if len(list) > 0 {
		p.sinceForced = 0
		list = cover(list, 1, cheapest(1))[:1]
	}
	return list
}

// forget drops the references to requests in reused memory.
func (p *pressure) forget() { clear(p.victims[:cap(p.victims)]) }
