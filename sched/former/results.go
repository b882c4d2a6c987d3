package former

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// batchDone takes a step's results, or keeps them until the CommitPlan that is
// out has come back: its answer is about leases as they were. Steps are done in
// their order, and a plan has at most one running beside it, so there is never
// more than one to keep.
func (f *Core) batchDone(now time.Duration, m *messages.BatchDone, out *messages.Outbox) {
	f.must(!f.quiet() && f.kept == nil && m.Step == f.flights[0].step, "BatchDone")
	f.pacer.Done(now, m.Step)
	if f.held() {
		f.kept = m
		return
	}
	f.takeResults(now, m, out)
}

// takeKept takes results that came while a CommitPlan was out.
func (f *Core) takeKept(now time.Duration, out *messages.Outbox) {
	if f.kept != nil {
		f.takeResults(now, f.kept, out)
		f.kept = nil
	}
}

// takeResults moves the fence: tokens are appended, ends are decided, and intake
// hears all of it in one message.
func (f *Core) takeResults(now time.Duration, m *messages.BatchDone, out *messages.Outbox) {
	fl := &f.flights[0] // on the list to the end, to name suspects
	f.done, f.waits = m.Step, false
	for i := range m.Prompts {
		s := f.rowOf(m.Prompts[i].Row)
		s.addPrompts(&m.Prompts[i])
	}
	r := f.newResults(m.Step)
	r.Tokens = slices.Grow(r.Tokens, len(m.Sampled))
	next, ends := 0, false
	for i := range fl.work {
		w := &fl.work[i]
		var sampled *messages.SampledToken
		if w.sample {
			if next >= len(m.Sampled) || m.Sampled[next].Row != w.seq.lease.Row {
				invariants.Fail("step %d has no token for row %d", m.Step, w.seq.lease.Row)
			}
			sampled = &m.Sampled[next]
			next++
		}
		ends = f.rowDone(w, sampled, r) || ends
	}
	if next != len(m.Sampled) {
		invariants.Fail("step %d brought %d tokens, %d were asked for", m.Step, len(m.Sampled), next)
	}
	if ends {
		f.running = slices.DeleteFunc(f.running, func(s *sequence) bool { return s.state == gone })
	}
	f.sweep()
	f.addEnds(r)
	f.report(r, out)
	f.sinceForced++
	f.audit.stepped = true
	if !fl.retracted {
		f.ratio.step()
	}
	// A step that was launched beside another one began when that was done.
	f.recordStep(now-max(fl.launched, f.doneAt), out)
	f.doneAt = now
	f.landed()
}

// rowDone takes one row's share of a step and reports whether its request is
// gone. A request whose end shows while the next step computes it already is
// closing until then.
func (f *Core) rowDone(w *rowWork, sampled *messages.SampledToken, r *messages.StepResults) (gone bool) {
	s := w.seq
	s.done = w.end
	if sampled != nil {
		s.pending--
	}
	if !s.active() {
		return false // ended meanwhile; a token is dropped
	}
	if w.prefill {
		s.insertDue = !f.opt.CacheDisabled && paging.Whole(s.done, f.opt.PageSize) > s.lease.Owned
	}
	if sampled == nil {
		return false
	}
	if !s.reported {
		s.reported = true
		r.Prompts = append(r.Prompts, messages.PromptResult{ID: s.req.ID, CachedTokens: s.cached, Logprobs: s.prompts})
		s.prompts = nil
	}
	r.Tokens = append(r.Tokens, messages.TokenResult{ID: s.req.ID, Position: s.output(), Token: sampled.Token, Logprobs: sampled.Logprobs})
	reason := s.take(sampled.Token, f.opt.ContextLength)
	if reason == 0 {
		return false
	}
	end := messages.RequestEnded{ID: s.req.ID, Reason: reason}
	if reason != messages.EndLength {
		end.Token = sampled.Token
	}
	r.Ended = append(r.Ended, end)
	if !s.lease.Settled(f.done) {
		s.state = closing
		f.leaving++
		delete(f.byID, s.req.ID)
		return false
	}
	f.release(s)
	f.drop(s)
	return true
}

func (f *Core) rowOf(row messages.Row) *sequence {
	invariants.Check(row >= 0 && int(row) < len(f.byRow) && f.byRow[row] != nil, "results for row %d, which nobody holds", row)
	return f.byRow[row]
}

// batchFailed ends the epoch: nothing of the step counts, and one that was
// launched behind it is never computed. Only requests of the step itself are
// suspects.
func (f *Core) batchFailed(m *messages.BatchFailed, out *messages.Outbox) {
	f.must(!f.quiet() && m.Step == f.flights[0].step, "BatchFailed")
	f.fail(fmt.Sprintf("step %d of %d rows failed: %s", m.Step, len(f.flights[0].work), m.Reason), f.requests(m.Step), m.Sticky, out)
}

func (f *Core) recordStep(took time.Duration, out *messages.Outbox) {
	out.Record(messages.Steps, 1)
	out.Record(messages.StepLatency, took.Seconds())
	f.recordState(out)
}

func (f *Core) recordState(out *messages.Outbox) {
	used := f.opt.Pages - f.free - f.cached.Evictable
	out.Record(messages.RequestsRunning, float64(f.occupied()))
	out.Record(messages.RequestsRetracted, float64(len(f.retracted)))
	out.Record(messages.PagesLeased, float64(used-f.cached.Protected))
	out.Record(messages.TokenUsage, float64(used)/float64(f.opt.Pages))
	out.Record(messages.NewTokenRatio, f.ratio.now)
}
