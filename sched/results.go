package sched

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/memory"
	"github.com/troupe-engine/troupe/messages"
)

// batchDone takes a step's results: the fence moves, tokens are appended, ends
// are decided, and intake hears all of it in one message.
func (f *Former) batchDone(now time.Duration, m *messages.BatchDone, out *messages.Outbox) {
	f.must(f.phase == running && m.Step == f.step, "BatchDone")
	f.done = m.Step
	for i := range m.Prompts {
		s := f.rowOf(m.Prompts[i].Row)
		s.addPrompts(&m.Prompts[i])
	}
	r := &messages.StepResults{Epoch: f.epoch, Step: m.Step, Tokens: make([]messages.TokenResult, 0, len(m.Sampled))}
	next, ends := 0, false
	for i := range f.flight {
		w := &f.flight[i]
		var sampled *messages.SampledToken
		if w.sample {
			if next >= len(m.Sampled) || m.Sampled[next].Row != w.seq.lease.Row {
				invariants.Fail("step %d has no token for row %d", m.Step, w.seq.lease.Row)
			}
			sampled = &m.Sampled[next]
			next++
		}
		ends = f.computed(w, sampled, r) || ends
	}
	if next != len(m.Sampled) {
		invariants.Fail("step %d brought %d tokens, %d were asked for", m.Step, len(m.Sampled), next)
	}
	f.become(resting)
	if ends {
		f.running = slices.DeleteFunc(f.running, func(s *sequence) bool { return s.state == gone })
	}
	f.sweep()
	f.seq++
	r.Seq = f.seq
	r.Ended = append(r.Ended, f.ended...)
	r.Admitted, f.ended, f.began = f.began, nil, nil
	out.Send(messages.Intake, r)
	f.sinceForced++
	f.audit.stepped = true
	if !f.plan.retracted {
		f.ratio.step()
	}
	f.recordStep(now, out)
}

// computed takes one row's share of a step and reports whether its request
// ended.
func (f *Former) computed(w *flight, sampled *messages.SampledToken, r *messages.StepResults) (ended bool) {
	s := w.seq
	s.computed = w.end
	if !s.active() {
		return false // cancelled meanwhile; a token is dropped
	}
	if s.state == prefilling {
		s.insertDue = !f.opt.CacheDisabled && memory.WholePages(s.computed, f.opt.PageSize) > s.lease.Owned
	}
	if sampled == nil {
		return false
	}
	if s.state == prefilling {
		s.state = decoding
		if !s.reported {
			s.reported = true
			r.Prompts = append(r.Prompts, messages.PromptResult{ID: s.req.ID, CachedTokens: s.cached, Logprobs: s.prompts})
			s.prompts = nil
		}
	}
	r.Tokens = append(r.Tokens, messages.TokenResult{ID: s.req.ID, Position: s.output(), Token: sampled.Token, Logprobs: sampled.Logprobs})
	reason, ended := s.take(sampled.Token, f.opt.ContextLength)
	if !ended {
		return false
	}
	end := messages.RequestEnded{ID: s.req.ID, Reason: reason}
	if reason != messages.EndLength {
		end.Token = sampled.Token
	}
	r.Ended = append(r.Ended, end)
	f.release(s)
	f.drop(s)
	return true
}

func (f *Former) rowOf(row messages.Row) *sequence {
	invariants.Check(row >= 0 && int(row) < len(f.byRow) && f.byRow[row] != nil, "results for row %d, which nobody holds", row)
	return f.byRow[row]
}

// batchFailed ends the epoch: nothing of the step counts.
func (f *Former) batchFailed(m *messages.BatchFailed, out *messages.Outbox) {
	f.must(f.phase == running && m.Step == f.step, "BatchFailed")
	f.fail(fmt.Sprintf("step %d of %d rows failed: %s", m.Step, len(f.flight), m.Reason), f.inFlight(), m.Sticky, out)
}

func (f *Former) recordStep(now time.Duration, out *messages.Outbox) {
	out.Record(messages.Steps, 1)
	out.Record(messages.StepLatency, (now - f.launched).Seconds())
	f.recordState(out)
}

func (f *Former) recordState(out *messages.Outbox) {
	used := f.opt.Pages - f.free - f.cached.Evictable
	out.Record(messages.RequestsRunning, float64(f.occupied()))
	out.Record(messages.RequestsRetracted, float64(len(f.retracted)))
	out.Record(messages.PagesLeased, float64(used-f.cached.Protected))
	out.Record(messages.TokenUsage, float64(used)/float64(f.opt.Pages))
	out.Record(messages.NewTokenRatio, f.ratio.now)
}
