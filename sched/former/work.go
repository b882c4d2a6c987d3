package former

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// launch closes the plan and sends the step, decoding rows first, and reports
// whether there may be more to plan. When there is nothing to compute it waits
// for the step that runs.
//
// Nothing is allocated for a step of decoding rows, however many: the message is
// that of an earlier step, whose BatchDone has said that the runner is done with
// it.
func (f *Core) launch(now time.Duration, out *messages.Outbox) (again bool) {
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
	b.Closed, f.closed = append(b.Closed, f.closed...), f.closed[:0]
	for _, s := range f.running {
		f.rowDeltas(b, s)
	}
	f.step = b.Step
	fl := f.newest()
	fl.step, fl.launched, fl.retracted = b.Step, now, f.plan.retracted
	f.pacer.Launched(now, &b.RunBatch)
	out.ToRunner(&b.RunBatch)
	out.Record(messages.StepTokens, float64(b.Tokens()))
	f.recordState(out) // a long step would show who ran before it
	return true
}

// fill gives the rows their work; nil when there is none. A sequence that ends
// with a step that runs gets none, and so does one of which nobody knows how many
// tokens that step brings.
func (f *Core) fill(out *messages.Outbox) *batch {
	if f.occupied() == 0 {
		return nil
	}
	f.launching()
	b := f.newest().batch
	for _, s := range f.running {
		if s.state == decoding && !s.open && !f.outgrown(s) && s.ahead(f.opt.ContextLength) > 0 {
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

// work gives a row count tokens to compute. One token that is sampled after the
// last one is pending from now on: the executor appends it before it computes
// the next step. Where more may come, as many as the row's pages hold, the row
// waits for them: nobody knows where its next work begins.
func (f *Core) work(b *batch, s *sequence, count int) {
	end, capacity := s.scheduled+count, s.lease.Capacity(f.opt.PageSize)
	if end > capacity { // not Check, whose arguments cost allocations per row
		invariants.Fail("request %d computes %d tokens on %d pages", s.req.ID, end, len(s.lease.Pages))
	}
	sample := 0
	if end == s.length() {
		sample = min(f.opt.TokensPerStep, s.ahead(f.opt.ContextLength), capacity-end+1)
	}
	s.lease.Launch(b.Step)
	b.Work = append(b.Work, messages.RowWork{Row: s.lease.Row, Start: s.scheduled, Count: count, Sample: sample})
	fl := f.newest()
	fl.work = append(fl.work, rowWork{s, end, s.state == prefilling, sample})
	if s.state == prefilling {
		s.filling = b.Step
	}
	s.scheduled = end
	if sample > 0 {
		s.pending++
		s.open = sample > 1
		s.state = decoding
	}
}

// rowDeltas tells the device what it does not know of a row.
func (f *Core) rowDeltas(b *batch, s *sequence) {
	if s.opened && s.known == len(s.lease.Pages) && s.staleFrom == s.staleTo || !s.active() {
		return
	}
	row, pages := s.lease.Row, s.lease.Pages
	if !s.opened {
		s.opened = true
		prompt, all := len(s.req.Prompt), len(s.tokens)
		b.Opened = append(b.Opened, messages.RowOpened{
			Row: row, Request: s.req, Output: s.tokens[prompt:all:all], Pages: b.copyPages(pages[:s.known]),
		})
	}
	if s.staleFrom < s.staleTo {
		b.Replaced = append(b.Replaced, messages.RowReplaced{Row: row, First: s.staleFrom, Pages: b.copyPages(pages[s.staleFrom:s.staleTo])})
		s.staleFrom, s.staleTo = 0, 0
	}
	if s.known < len(pages) {
		b.Grown = append(b.Grown, messages.RowGrown{Row: row, Pages: b.copyPages(pages[s.known:])})
		s.known = len(pages)
	}
}
