package former

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// flight is a launched step whose results have not been taken.
type flight struct {
	step      messages.StepID
	launched  time.Duration
	retracted bool      // its plan retracted somebody
	work      []rowWork // in the order of RunBatch.Work
	batch     *batch
}

// batch is the RunBatch of a flight with the memory behind it. It is the
// runner's until the step's BatchDone, and used again after that.
type batch struct {
	messages.RunBatch
	pages []messages.Page // those that the row deltas name
}

// reset empties a batch for a step and keeps its memory.
func (b *batch) reset(step messages.StepID) {
	clear(b.Opened)
	clear(b.Replaced)
	clear(b.Grown)
	b.RunBatch = messages.RunBatch{Step: step, Closed: b.Closed[:0], Opened: b.Opened[:0],
		Replaced: b.Replaced[:0], Grown: b.Grown[:0], Work: b.Work[:0]}
	b.pages = b.pages[:0]
}

// copyPages copies pages of a lease, which changes in place.
func (b *batch) copyPages(pages []messages.Page) []messages.Page {
	from := len(b.pages)
	b.pages = append(b.pages, pages...)
	return b.pages[from:len(b.pages):len(b.pages)]
}

// rowWork is one row's work of a step. The sequence keeps its lease at least
// until the step is done.
type rowWork struct {
	seq     *sequence
	end     int  // tokens with KV after it, but for those that it samples
	prefill bool // of a prompt, or of what was retracted
	sample  int  // tokens that it brings at most; 0: none
}

// launching makes room for one more flight, whose memory is reused.
func (f *Core) launching() {
	n := len(f.flights)
	invariants.Check(n < f.opt.StepsInFlight, "a step is launched while %d run", n)
	f.flights = f.flights[:n+1]
	fl := f.newest()
	fl.work = fl.work[:0]
	if fl.batch == nil {
		fl.batch = &batch{}
	}
	fl.batch.reset(f.step + 1)
}

// newest is the flight that was launched last, or is being filled.
func (f *Core) newest() *flight { return &f.flights[len(f.flights)-1] }

// landed takes the oldest flight off the list; its memory goes to the end, and
// nobody who ended lives on in it.
func (f *Core) landed() {
	first, last := f.flights[0], len(f.flights)-1
	clear(first.work)
	clear(first.batch.Opened)
	copy(f.flights, f.flights[1:])
	f.flights[last] = first
	f.flights = f.flights[:last]
}

// requests are those that work in a launched step; nil when it does not run.
func (f *Core) requests(step messages.StepID) []messages.RequestID {
	for i := range f.flights {
		if f.flights[i].step != step {
			continue
		}
		ids := make([]messages.RequestID, len(f.flights[i].work))
		for j := range ids {
			ids[j] = f.flights[i].work[j].seq.req.ID
		}
		return ids
	}
	return nil
}

// quiet reports whether no step runs. Only then is every lease settled, every
// token known, and may anybody be retracted.
func (f *Core) quiet() bool { return len(f.flights) == 0 }

// mayPlan reports whether a plan for one more step may be opened.
func (f *Core) mayPlan() bool {
	return f.phase == resting && !f.audit.out && !f.waits && len(f.flights) < f.opt.StepsInFlight
}

// wait puts planning off until the step that runs is done, or until something
// else changes the picture: a lease that is given back, somebody who arrives.
func (f *Core) wait() {
	invariants.Check(!f.quiet(), "the batch former waits for a step and none runs")
	f.waits = true
	f.closePlan()
}

// fenced reports whether the next plan begins with something that the fence
// forbids while a step runs: a retraction, which needs a settled lease and all
// tokens of its sequence.
func (f *Core) fenced() bool {
	return !f.quiet() && (f.retractionDue() || f.making != 0 || f.pressing)
}
