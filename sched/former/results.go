package former

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// batchDone takes a step's results. While a CommitPlan is out it holds them, because the
// answer refers to the leases as they were. Steps are done in order, and a plan has at
// most one in flight beside it, so there is never more than one result to hold.
func (c *Core) batchDone(m *messages.BatchDone, out *messages.Outbox) {
	c.must(!c.flight.idle() && c.flight.heldResult == nil && m.Step == c.flight.steps[0].id, "BatchDone")
	c.prefill.pacer.Done(c.now, m.Step)
	if c.phase.committed() {
		c.flight.heldResult = m
		return
	}
	c.takeResults(m, out)
}

// takeResults moves the fence: it appends tokens, decides ends, and sends both to intake.
func (c *Core) takeResults(m *messages.BatchDone, out *messages.Outbox) {
	st := &c.flight.steps[0] // on the list to the end, to name suspects
	c.flight.done, c.flight.planBlocked = m.Step, false
	for i := range m.Prompts {
		s := c.batch.at(m.Prompts[i].Row)
		s.addPrompts(&m.Prompts[i])
	}
	r := c.reports.next(m.Step)
	r.Computed = st.prefilled
	r.Tokens = slices.Grow(r.Tokens, len(m.Sampled))
	left, ends := stepResults{m.Sampled, m.Failed, m.Late}, false
	for i := range st.work {
		w := &st.work[i]
		var sampled []messages.SampledToken
		var failed *messages.RowFailed
		if w.sample > 0 {
			sampled, failed = left.cut(w)
		}
		ends = c.rowDone(w, sampled, failed, r) || ends
	}
	if n := len(left.sampled) + len(left.failed) + len(left.late); n > 0 {
		invariants.Fail("step %d brought %d results that were not asked for", m.Step, n)
	}
	if ends {
		c.batch.prune(gone)
	}
	c.sweep()
	c.reports.send(r, out)
	c.admin.stepped = true
	c.pressure.stepped(st.retracted)
	// A step that was launched beside another one began when that was done.
	took := c.now - max(st.launched, c.flight.doneAt)
	out.Record(messages.Steps, 1)
	out.Record(messages.StepLatency, took.Seconds())
	if n := len(m.Late); n > 0 {
		out.Record(messages.LateRows, float64(n))
	}
	if m.Forced > 0 {
		out.Record(messages.ForcedTokens, float64(m.Forced))
	}
	c.recordState(out)
	c.flight.doneAt = c.now
	c.flight.retire()
}

// stepResults is what is left of a step's results.
type stepResults struct {
	sampled []messages.SampledToken
	failed  []messages.RowFailed
	late    []messages.Row
}

// cut takes the tokens of the next row off, or why there are none. Both are missing if the row
// is late.
func (r *stepResults) cut(w *rowWork) (sampled []messages.SampledToken, failed *messages.RowFailed) {
	row, n := w.seq.lease.Row, 0
	if len(r.failed) > 0 && r.failed[0].Row == row {
		failed, r.failed = &r.failed[0], r.failed[1:]
		return nil, failed
	}
	if len(r.late) > 0 && r.late[0] == row && !w.certain {
		r.late = r.late[1:]
		return nil, nil
	}
	for n < len(r.sampled) && r.sampled[n].Row == row {
		n++
	}
	if n == 0 || n > w.sample {
		invariants.Fail("row %d got %d tokens, asked for were 1 to %d", row, n, w.sample)
	}
	sampled, r.sampled = r.sampled[:n], r.sampled[n:]
	return sampled, nil
}

// rowDone takes one row's part of a step and reports whether its request is gone. If the
// next step already computes a request that ends, it is closing until that step is done.
func (c *Core) rowDone(w *rowWork, sampled []messages.SampledToken, failed *messages.RowFailed, r *messages.StepResults) (ended bool) {
	s := w.seq
	s.done = w.end
	if w.sample > 0 {
		s.pending--
	}
	if w.sample > 0 && !w.certain {
		if failed == nil {
			s.done += len(sampled) - 1 // all but the last have KV; without any, the last token is computed again
		}
		s.scheduled, s.uncertain = s.done, false
		s.late = failed == nil && len(sampled) == 0
	}
	if !s.active() {
		return false // it has ended meanwhile, and the tokens are dropped
	}
	if w.prefill {
		s.insertDue = !c.opt.CacheDisabled && paging.Whole(s.done, c.opt.PageSize) > s.lease.Owned
	}
	if w.sample == 0 || s.late {
		return false
	}
	if !s.reported {
		s.reported = true
		r.Prompts = append(r.Prompts, messages.PromptResult{ID: s.req.ID, CachedTokens: s.cached, Logprobs: s.prompts})
		s.prompts = nil
	}
	end := messages.RequestEnded{ID: s.req.ID}
	if failed != nil {
		end.Reason, end.Why = cmp.Or(failed.End, messages.EndFailed), failed.Reason
	}
	for i := range sampled {
		t := &sampled[i]
		r.Tokens = append(r.Tokens, messages.TokenResult{ID: s.req.ID, Position: s.output(), Token: t.Token, Logprobs: t.Logprobs})
		if end.Reason = s.take(t.Token, c.opt.ContextLength); end.Reason != 0 {
			if end.Reason != messages.EndLength {
				end.Token = t.Token
			}
			break // tokens after the end are dropped
		}
	}
	if end.Reason == 0 {
		return false
	}
	r.Ended = append(r.Ended, end)
	if !s.lease.Settled(c.flight.done) {
		s.state = closing
		c.batch.closing++
		delete(c.batch.byID, s.req.ID)
		return false
	}
	c.release(s)
	c.drop(s)
	return true
}

// maskReady lets a late row go on. It comes after the results that say that the row is late,
// which may be held. A row that has ended meanwhile has no mask to wait for.
func (c *Core) maskReady(id messages.RequestID) {
	if held := c.flight.heldResult; held != nil && len(held.Late) > 0 {
		c.flight.heldReady = append(c.flight.heldReady, id)
		return
	}
	if s := c.batch.byID[id]; s != nil && s.late {
		s.late, c.flight.planBlocked = false, false
	}
}

// batchFailed ends the epoch. Nothing of the step counts, and a step launched after
// it is never computed. Only the requests of the failed step are suspects.
func (c *Core) batchFailed(m *messages.BatchFailed, out *messages.Outbox) {
	c.must(!c.flight.idle() && m.Step == c.flight.steps[0].id, "BatchFailed")
	c.fail(fmt.Sprintf("step %d (requests: %d) failed: %s", m.Step, len(c.flight.steps[0].work), m.Reason), c.flight.requests(m.Step), m.Sticky, out)
}
