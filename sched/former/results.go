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
	brought, ends := brought{m.Sampled, m.Failed}, false
	for i := range fl.work {
		w := &fl.work[i]
		var share rowShare
		if w.sample > 0 {
			share = brought.take(w)
		}
		ends = f.rowDone(w, share, r) || ends
	}
	if n := len(brought.sampled) + len(brought.failed); n > 0 {
		invariants.Fail("step %d brought %d results that nobody asked for", m.Step, n)
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

// brought is what is left of a step's results.
type brought struct {
	sampled []messages.SampledToken
	failed  []messages.RowFailed
}

// rowShare is one row's part: one token or more, or why there is none.
type rowShare struct {
	tokens []messages.SampledToken
	failed *messages.RowFailed
}

// take cuts off the part of the row that comes next.
func (b *brought) take(w *rowWork) (share rowShare) {
	row := w.seq.lease.Row
	if len(b.failed) > 0 && b.failed[0].Row == row {
		share.failed, b.failed = &b.failed[0], b.failed[1:]
		return share
	}
	n := 0
	for n < len(b.sampled) && b.sampled[n].Row == row {
		n++
	}
	if n == 0 || n > w.sample {
		invariants.Fail("row %d got %d tokens, asked for were 1 to %d", row, n, w.sample)
	}
	share.tokens, b.sampled = b.sampled[:n], b.sampled[n:]
	return share
}

// rowDone takes one row's share of a step and reports whether its request is
// gone. A request whose end shows while the next step computes it already is
// closing until then.
func (f *Core) rowDone(w *rowWork, share rowShare, r *messages.StepResults) (gone bool) {
	s := w.seq
	s.done = w.end
	if w.sample > 0 {
		s.pending--
	}
	if n := len(share.tokens); n > 1 {
		s.done += n - 1 // their KV is there, too
		s.scheduled = s.done
	}
	s.open = s.open && w.sample <= 1
	if !s.active() {
		return false // ended meanwhile; tokens are dropped
	}
	if w.prefill {
		s.insertDue = !f.opt.CacheDisabled && paging.Whole(w.end, f.opt.PageSize) > s.lease.Owned
	}
	if w.sample == 0 {
		return false
	}
	if !s.reported {
		s.reported = true
		r.Prompts = append(r.Prompts, messages.PromptResult{ID: s.req.ID, CachedTokens: s.cached, Logprobs: s.prompts})
		s.prompts = nil
	}
	end := messages.RequestEnded{ID: s.req.ID}
	if share.failed != nil {
		end.Reason, end.Why = messages.EndFailed, share.failed.Reason
	}
	for i := range share.tokens {
		t := &share.tokens[i]
		r.Tokens = append(r.Tokens, messages.TokenResult{ID: s.req.ID, Position: s.output(), Token: t.Token, Logprobs: t.Logprobs})
		if end.Reason = s.take(t.Token, f.opt.ContextLength); end.Reason != 0 {
			if end.Reason != messages.EndLength {
				end.Token = t.Token
			}
			break // what comes behind the end is dropped
		}
	}
	if end.Reason == 0 {
		return false
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
