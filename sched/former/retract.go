package former

import (
	"cmp"
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// room says when the next step's pages can be reserved.
type room uint8

const (
	atOnce        room = iota
	afterSettling      // once the plan has given back, without reserving
	afterStep          // once the step that runs is done
)

// makeRoom sees to it that the next step's pages can be reserved. It retracts
// whom it must and reports whether the plan first has to give back without
// reserving: when it depends on who shares the prefixes that are unlocked and
// on copies that the tree has already, which only the cache knows. A plan
// therefore never asks for more than there is, and never retracts more than it
// needs. While a step runs nobody is retracted: it may give back enough.
func (f *Core) makeRoom(out *messages.Outbox) room {
	if f.plan.spare = f.sure() - f.missing(); f.plan.spare >= 0 {
		return atOnce
	}
	if f.quiet() && f.missing() > f.hoped() {
		// As far ahead as SGLang's retract_decode looks, so that the next
		// steps do not retract again.
		for {
			short := f.missingAhead(lookaheadSteps) - f.hoped()
			if short <= 0 || !f.retract(f.victims(short), out) {
				break
			}
		}
		if f.plan.spare = f.sure() - f.missing(); f.plan.spare >= 0 {
			return atOnce
		}
	}
	if f.hoped() > f.sure() {
		return afterSettling
	}
	invariants.Check(!f.quiet(),
		"%d running requests need %d pages, %d are free and %d evictable, and nobody can be retracted",
		len(f.running), f.missing(), f.free, f.cached.Evictable)
	return afterStep
}

// retract takes the leases of sequences away for want of memory, and reports
// whether there were any. What is expected of output is measured anew.
func (f *Core) retract(victims []victim, out *messages.Outbox) bool {
	if len(victims) == 0 {
		return false
	}
	f.takeBack(victims, out)
	requests, produced, limit := 0, 0, 0
	for _, r := range f.running {
		if r.active() {
			requests, produced, limit = requests+1, produced+r.output(), limit+min(r.req.Params.MaxTokens, maxExpected)
		}
	}
	f.ratio.retracted(requests, produced, limit)
	return true
}

// takeBack takes leases away. The sequences keep their tokens and their place
// ahead of everybody of their rank who was not admitted yet.
func (f *Core) takeBack(victims []victim, out *messages.Outbox) {
	for i := range victims {
		s := victims[i].s
		invariants.Check(f.quiet() && s.pending == 0, "request %d is retracted while step %d runs", s.req.ID, f.step)
		f.release(s)
		s.state, s.since = retracted, f.now
		if !s.reported {
			s.prompts = nil // they are computed again
		}
		at, _ := slices.BinarySearchFunc(f.retracted, s, f.comesBackBefore)
		f.retracted = slices.Insert(f.retracted, at, s)
		out.Record(messages.Retractions, 1)
	}
	f.running = slices.DeleteFunc(f.running, func(r *sequence) bool { return r.state == retracted })
	f.plan.retracted = true
}

// comesBackBefore orders retracted sequences: those who have waited for too long
// first, then by rank, then by arrival.
func (f *Core) comesBackBefore(a, b *sequence) int {
	switch {
	case a.aged && b.aged:
		return cmp.Compare(a.req.ID, b.req.ID)
	case a.aged:
		return -1
	case b.aged:
		return 1
	}
	return cmp.Or(cmp.Compare(f.rank(b.req), f.rank(a.req)), cmp.Compare(a.req.ID, b.req.ID))
}

// makePlace retracts whoever decodes when somebody wants to be alone: waiting
// for all of their ends would keep everybody else out for as long. They come
// back at its first token. Who is in prefill goes on until it decodes, so that
// no row of such requests undoes all progress.
func (f *Core) makePlace(out *messages.Outbox) {
	if f.making == 0 {
		return
	}
	if all := f.candidatesForRetraction(0, false); len(all) > 0 {
		f.takeBack(all, out)
	}
}

// retractionDue reports whether forceRetraction has something to do.
func (f *Core) retractionDue() bool {
	return f.opt.RetractEvery > 0 && f.sinceForced >= f.opt.RetractEvery
}

// forceRetraction retracts one decoding sequence every so many steps, if asked
// to. Also the only one that runs: it comes back at the next plan. Whoever
// decodes has got a token out of its admission, so that this never undoes all
// progress.
func (f *Core) forceRetraction(out *messages.Outbox) {
	if !f.retractionDue() {
		return
	}
	if list := f.candidatesForRetraction(1, false); len(list) > 0 {
		f.sinceForced = 0
		f.retract(firstVictims(list, 1)[:1], out)
	}
}
