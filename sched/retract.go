package sched

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
func (f *Former) makeRoom(out *messages.Outbox) room {
	if f.plan.spare = f.sure() - f.missing(); f.plan.spare >= 0 {
		return atOnce
	}
	if f.quiet() && f.missing() > f.hoped() {
		// As far ahead as SGLang's retract_decode looks, so that the next
		// steps do not retract again.
		for f.missingAhead(lookaheadSteps) > f.hoped() {
			v := f.victim(1)
			if v == nil {
				break
			}
			f.retract(v, out)
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

// missingAhead is how many pages the running sequences need for their next
// steps.
func (f *Former) missingAhead(steps int) int {
	n := 0
	for _, s := range f.running {
		switch s.state {
		case prefilling:
			n += s.lease.Missing(s.length(), f.opt.PageSize)
		case decoding:
			n += max(0, s.pagesAfter(min(steps, s.ahead(f.opt.ContextLength)), f.opt.PageSize)-len(s.lease.Pages))
		}
	}
	return n
}

// victim is the sequence to retract: the one with the fewest output tokens, of
// those with the longest prompt (retract_decode's order), of those the latest.
// Only decoding ones: a prefill holds all its pages and needs no more, and
// whoever decodes has got a token out of its admission, so that retraction
// never undoes all progress. At least others sequences go on.
func (f *Former) victim(others int) *sequence {
	if f.occupied() <= others {
		return nil
	}
	var v *sequence
	for _, s := range f.running {
		if s.state == decoding && (v == nil || retractsBefore(s, v)) {
			v = s
		}
	}
	return v
}

func retractsBefore(a, b *sequence) bool {
	switch {
	case a.output() != b.output():
		return a.output() < b.output()
	case len(a.req.Prompt) != len(b.req.Prompt):
		return len(a.req.Prompt) > len(b.req.Prompt)
	}
	return a.req.ID > b.req.ID
}

// retract takes a sequence's lease away. It keeps its tokens and its place
// ahead of everybody who was not admitted yet.
func (f *Former) retract(s *sequence, out *messages.Outbox) {
	f.takeBack(s, out)
	requests, produced, limit := 0, 0, 0
	for _, r := range f.running {
		if r.active() {
			requests, produced, limit = requests+1, produced+r.output(), limit+r.req.Params.MaxTokens
		}
	}
	f.ratio.retracted(requests, produced, limit)
}

func (f *Former) takeBack(s *sequence, out *messages.Outbox) {
	invariants.Check(f.quiet() && s.pending == 0, "request %d is retracted while step %d runs", s.req.ID, f.step)
	f.running = slices.DeleteFunc(f.running, func(r *sequence) bool { return r == s })
	f.release(s)
	s.state = retracted
	at, _ := slices.BinarySearchFunc(f.retracted, s.req.ID, func(r *sequence, id messages.RequestID) int {
		return cmp.Compare(r.req.ID, id)
	})
	f.retracted = slices.Insert(f.retracted, at, s)
	f.plan.retracted = true
	out.Record(messages.Retractions, 1)
}

// makePlace retracts whoever decodes when somebody wants to be alone: waiting
// for all of their ends would keep everybody else out for as long. They come
// back at its first token. Who is in prefill goes on until it decodes.
func (f *Former) makePlace(out *messages.Outbox) {
	if f.making == 0 {
		return
	}
	for v := f.victim(0); v != nil; v = f.victim(0) {
		f.takeBack(v, out)
	}
}

// retractionDue reports whether forceRetraction has something to do.
func (f *Former) retractionDue() bool {
	return f.opt.RetractEvery > 0 && f.sinceForced >= f.opt.RetractEvery
}

// forceRetraction retracts one sequence every so many steps, if asked to. Also
// the only one that runs: it comes back at the next plan.
func (f *Former) forceRetraction(out *messages.Outbox) {
	if !f.retractionDue() {
		return
	}
	if v := f.victim(0); v != nil {
		f.sinceForced = 0
		f.retract(v, out)
	}
}
