package replay

import (
	"time"

	"github.com/troupe-engine/troupe/internal/splitmix"
	"github.com/troupe-engine/troupe/lab/costmodel"
	"github.com/troupe-engine/troupe/messages"
)

// runner replaces a device with its runner and executor. It runs one step after the
// other, in the order of launches, on virtual time: it turns a step into rows of
// the cost model and answers with made-up tokens.
type runner struct {
	costs *costmodel.Costs
	free  time.Duration // when the newest step is over
	busy  time.Duration // in all steps so far

	rows    []messages.RequestID // by row: the request that holds it
	steps   []*messages.BatchDone
	work    []costmodel.Row // reused
	answers [2]*messages.BatchDone
}

func newRunner(costs *costmodel.Costs, rows int) runner {
	return runner{costs: costs, rows: make([]messages.RequestID, rows), answers: [2]*messages.BatchDone{{}, {}}}
}

// launch starts a step at time now, which must not go back, or when the steps
// before it are over. It returns when the step is over.
func (r *runner) launch(now time.Duration, b *messages.RunBatch) time.Duration {
	for i := range b.Opened {
		r.rows[b.Opened[i].Row] = b.Opened[i].Request.ID
	}
	// The batch former has taken a step's results before the next but one is launched.
	done := r.answers[0]
	r.answers[0], r.answers[1] = r.answers[1], done
	*done = messages.BatchDone{Header: b.Header, Step: b.Step, Sampled: done.Sampled[:0]}
	r.work = r.work[:0]
	for i := range b.Work {
		w := &b.Work[i]
		r.work = append(r.work, costmodel.Row{Count: w.Count, Context: w.Start, Output: w.Sample > 0})
		if w.Sample > 0 {
			done.Sampled = append(done.Sampled, messages.SampledToken{Row: w.Row, Token: madeUp(r.rows[w.Row], w.Start+w.Count)})
		}
	}
	r.steps = append(r.steps, done)
	took := r.costs.StepTime(r.work)
	r.free = max(r.free, now) + took
	r.busy += took
	return r.free
}

// complete returns the results of the oldest step.
func (r *runner) complete() *messages.BatchDone {
	done := r.steps[0]
	r.steps = append(r.steps[:0], r.steps[1:]...)
	return done
}

// madeUp is the token at a position of a request: the same whenever it is computed,
// another one in every other request. A trace does not say what was generated; the
// blocks of a later prompt with this answer have ids of their own.
func madeUp(id messages.RequestID, position int) int32 {
	return int32(splitmix.Mix(uint64(id)<<32|uint64(uint32(position))) >> 33)
}
