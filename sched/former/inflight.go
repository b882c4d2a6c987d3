package former

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// inFlight holds the steps that are launched and not done, and the fence.
//
// Invariants:
//
//  6. No lease is released while a step that uses it may run: LastStep <= done.
//  9. steps are the steps (done, step], at most StepsInFlight. What they compute
//     and sample is the difference between a sequence's done and scheduled tokens,
//     and its pending ones.
type inFlight struct {
	opt    *Options
	step   messages.StepID // newest launched
	done   messages.StepID // newest whose results were taken: the fence
	doneAt time.Duration
	steps  []launchedStep // oldest first

	heldResult  *messages.BatchDone  // came while a CommitPlan was out
	heldReady   []messages.RequestID // of MaskReady, for late rows of it
	planBlocked bool                 // no plan is opened before the oldest step is done, or a late row goes on
	closedRows  []messages.Row       // for the next RunBatch
}

func newInFlight(opt *Options) inFlight {
	return inFlight{opt: opt, steps: make([]launchedStep, 0, opt.StepsInFlight)}
}

// idle reports whether no step is in flight: all leases are settled, all tokens known.
func (f *inFlight) idle() bool { return len(f.steps) == 0 }

// full reports whether no further step may be planned now.
func (f *inFlight) full() bool { return f.planBlocked || len(f.steps) >= f.opt.StepsInFlight }

// block puts planning off until a step is done, a lease released, or a request arrives.
func (f *inFlight) block() {
	invariants.Check(!f.idle(), "the batch former waits for a step and none is in flight")
	f.planBlocked = true
}

// begin adds an empty step, in the memory of an earlier one.
func (f *inFlight) begin() *launchedStep {
	n := len(f.steps)
	invariants.Check(n < f.opt.StepsInFlight, "a step is launched while %d are in flight", n)
	f.steps = f.steps[:n+1]
	st := &f.steps[n]
	st.id, st.work, st.prefilled = f.step+1, st.work[:0], 0
	if st.batch == nil {
		st.batch = &runBatch{}
	}
	st.batch.reset(st.id)
	return st
}

// cancel removes the step that was begun.
func (f *inFlight) cancel() { f.steps = f.steps[:len(f.steps)-1] }

// retire removes the oldest step and keeps its memory, without references to requests.
func (f *inFlight) retire() {
	first, last := f.steps[0], len(f.steps)-1
	clear(first.work)
	clear(first.batch.Opened)
	copy(f.steps, f.steps[1:])
	f.steps[last] = first
	f.steps = f.steps[:last]
}

// requests are those that a launched step computes; nil when it is not in flight.
func (f *inFlight) requests(step messages.StepID) []messages.RequestID {
	for i := range f.steps {
		if f.steps[i].id != step {
			continue
		}
		ids := make([]messages.RequestID, len(f.steps[i].work))
		for j := range ids {
			ids[j] = f.steps[i].work[j].seq.req.ID
		}
		return ids
	}
	return nil
}

// check is invariants 6 and 9.
func (f *inFlight) check(b *batch, released []releasedLease, planOut bool) {
	for i := range released {
		invariants.Check(released[i].lease.Settled(f.done), "6: request %d releases its lease too early", released[i].id)
	}
	invariants.Check(len(f.steps) <= f.opt.StepsInFlight && int(f.step-f.done) == len(f.steps),
		"9: steps %d to %d are in flight, %d are listed", f.done+1, f.step, len(f.steps))
	invariants.Check(f.heldResult == nil || planOut && f.heldResult.Step == f.done+1, "9: results of a step are held without a reason")
	invariants.Check(!f.planBlocked || !f.idle() || b.late() > 0, "9: the batch former waits for a step and none is in flight")
	done, pending, uncertain := make(map[*sequence]int), make(map[*sequence]int), make(map[*sequence]bool)
	for i := range f.steps {
		st := &f.steps[i]
		invariants.Check(st.id == f.done+1+messages.StepID(i), "9: step %d is number %d after step %d", st.id, i+1, f.done)
		for _, w := range st.work {
			invariants.Check(b.byRow[w.seq.lease.Row] == w.seq && w.seq.lease.LastStep >= st.id, "9: request %d is computed in step %d without its row", w.seq.req.ID, st.id)
			done[w.seq] = w.end
			invariants.Check(!uncertain[w.seq], "9: request %d is computed in step %d, after one of which it is not known how many of its tokens it samples", w.seq.req.ID, st.id)
			if uncertain[w.seq] = w.sample > 0 && !w.certain; w.sample > 0 {
				pending[w.seq]++
			}
		}
	}
	for _, s := range b.running {
		end, runs := done[s]
		if !runs {
			end = s.done
		}
		invariants.Check(s.uncertain == uncertain[s], "9: it is not known how many tokens request %d gets: %t, by its steps %t", s.req.ID, s.uncertain, uncertain[s])
		invariants.Check(s.scheduled == end && s.pending == pending[s], "9: request %d has %d of %d tokens scheduled and %d pending, by its steps %d and %d",
			s.req.ID, s.scheduled, s.length(), s.pending, end, pending[s])
	}
}
