package sched

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// launch closes the plan and sends the step, decoding rows first, and reports
// whether there may be more to plan. When there is nothing to compute it waits
// for the step that runs.
//
// The message and its slices are new, as the StepResults of the step are: four
// allocations for a step of decoding rows, however many. They are the receivers'
// from here on, and reusing them would need their word on when they are done.
func (f *Former) launch(now time.Duration, out *messages.Outbox) (again bool) {
	f.closePlan()
	b := f.fill(out)
	if b == nil {
		if !f.quiet() {
			f.wait()
			return false
		}
		// A prompt may have ended since the plan reserved pages for it and not
		// for others; the next plan does.
		invariants.Check(f.occupied() == f.withoutPages(), "step %d of %d sequences has no work", f.step+1, f.occupied())
		return true
	}
	b.Closed, f.closed = f.closed, nil
	for _, s := range f.running {
		f.rowDeltas(b, s)
	}
	f.step = b.Step
	fl := f.newest()
	fl.step, fl.launched, fl.retracted = b.Step, now, f.plan.retracted
	f.pacing.launched(now, b)
	out.Send(messages.Runner, b)
	out.Record(messages.StepTokens, float64(b.Tokens()))
	return true
}

// fill gives the rows their work; nil when there is none. A sequence that ends
// with a step that runs gets none.
func (f *Former) fill(out *messages.Outbox) *messages.RunBatch {
	if f.occupied() == 0 {
		return nil
	}
	b := &messages.RunBatch{Epoch: f.epoch, Step: f.step + 1, Work: make([]messages.RowWork, 0, f.occupied())}
	f.launching()
	for _, s := range f.running {
		if s.state == decoding && s.ahead(f.opt.ContextLength) > 0 {
			f.work(b, s, 1)
		}
	}
	if len(b.Work) < f.occupied() {
		f.prefill(b, out)
	}
	if len(b.Work) == 0 {
		f.flights = f.flights[:len(f.flights)-1]
		return nil
	}
	return b
}

// work gives a row count tokens to compute. What is drawn after the last one is
// pending from now on: the executor appends it before it builds the next step.
func (f *Former) work(b *messages.RunBatch, s *sequence, count int) {
	end := s.scheduled + count
	if end > s.lease.Capacity(f.opt.PageSize) { // not Check, whose arguments cost allocations per row
		invariants.Fail("request %d computes %d tokens on %d pages", s.req.ID, end, len(s.lease.Pages))
	}
	sample := end == s.length()
	s.lease.Launch(b.Step)
	b.Work = append(b.Work, messages.RowWork{Row: s.lease.Row, Start: s.scheduled, Count: count, Sample: sample})
	fl := f.newest()
	fl.work = append(fl.work, rowWork{s, end, s.state == prefilling, sample})
	if s.state == prefilling {
		s.filling = b.Step
	}
	s.scheduled = end
	if sample {
		s.pending++
		s.state = decoding
	}
}

// rowDeltas tells the device what it does not know of a row. Pages are copied:
// the lease's own slice changes in place.
func (f *Former) rowDeltas(b *messages.RunBatch, s *sequence) {
	if s.opened && s.known == len(s.lease.Pages) && s.staleFrom == s.staleTo || !s.active() {
		return
	}
	row, pages := s.lease.Row, s.lease.Pages
	if !s.opened {
		s.opened = true
		prompt, all := len(s.req.Prompt), len(s.tokens)
		b.Opened = append(b.Opened, messages.RowOpened{
			Row: row, Request: s.req, Output: s.tokens[prompt:all:all], Pages: slices.Clone(pages[:s.known]),
		})
	}
	if s.staleFrom < s.staleTo {
		b.Replaced = append(b.Replaced, messages.RowReplaced{Row: row, First: s.staleFrom, Pages: slices.Clone(pages[s.staleFrom:s.staleTo])})
		s.staleFrom, s.staleTo = 0, 0
	}
	if s.known < len(pages) {
		b.Grown = append(b.Grown, messages.RowGrown{Row: row, Pages: slices.Clone(pages[s.known:])})
		s.known = len(pages)
	}
}
