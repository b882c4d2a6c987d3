package sched

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// flight is one row's work of the step that runs.
type flight struct {
	seq    *sequence
	end    int // tokens computed after it
	sample bool
}

// launch sends the step, decoding rows first, or rests when there is nothing to
// compute; then it reports true.
//
// The message and its slices are new, as the StepResults of the step are: four
// allocations for a step of decoding rows, however many. They are the receivers'
// from here on, and reusing them would need their word on when they are done.
func (f *Former) launch(now time.Duration, out *messages.Outbox) (rests bool) {
	if f.occupied() == 0 {
		if f.phase != resting {
			f.become(resting)
		}
		return true
	}
	b := &messages.RunBatch{Epoch: f.epoch, Step: f.step + 1, Work: make([]messages.RowWork, 0, f.occupied())}
	f.flight = f.flight[:0]
	for _, s := range f.running {
		if s.state == decoding {
			f.work(b, s, 1)
		}
	}
	if decodes := len(b.Work); decodes < f.occupied() {
		f.prefill(b, decodes)
	}
	if len(b.Work) == 0 {
		invariants.Fail("step %d of %d sequences has no work", b.Step, f.occupied())
	}
	b.Closed, f.closed = f.closed, nil
	for _, s := range f.running {
		f.rowDeltas(b, s)
	}
	f.step, f.launched = b.Step, now
	f.become(running)
	out.Send(messages.Runner, b)
	out.Record(messages.StepTokens, float64(b.Tokens()))
	return false
}

func (f *Former) work(b *messages.RunBatch, s *sequence, count int) {
	end := s.computed + count
	if end > s.lease.Capacity(f.opt.PageSize) { // not Check, whose arguments cost allocations per row
		invariants.Fail("request %d computes %d tokens on %d pages", s.req.ID, end, len(s.lease.Pages))
	}
	sample := end == len(s.tokens)
	s.lease.Launch(b.Step)
	b.Work = append(b.Work, messages.RowWork{Row: s.lease.Row, Start: s.computed, Count: count, Sample: sample})
	f.flight = append(f.flight, flight{s, end, sample})
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
