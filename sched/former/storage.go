package former

import "github.com/troupe-engine/troupe/messages"

// What the batch former sends every step is memory that comes home, so that a step of
// decoding rows allocates nothing, however many there are:
//
//	RunBatch     is the runner's until the step's BatchDone
//	CommitPlan   is the cache's and the allocator's until PagesReserved
//	StepResults  is intake's until it sends it back
//
// The answers of cache and allocator are likewise good until the next
// CommitPlan, those of a device until the step after the next is launched.

// spentResults bounds the StepResults kept for use: as many as may be on their
// way home while new ones are sent. More are left to the garbage collector.
const spentResults = 4

// newResults returns an empty StepResults, one that intake has sent back if
// there is any.
func (f *Core) newResults(step messages.StepID) *messages.StepResults {
	var r *messages.StepResults
	if n := len(f.spent); n > 0 {
		r, f.spent[n-1] = f.spent[n-1], nil
		f.spent = f.spent[:n-1]
	} else {
		r = &messages.StepResults{}
	}
	f.seq++
	r.Seq, r.Step = f.seq, step
	return r
}

// tookBack keeps a StepResults that intake is done with.
func (f *Core) tookBack(r *messages.StepResults) {
	if len(f.spent) == spentResults || f.opt.ReportToQueue { // the queue may still read it
		return
	}
	clear(r.Prompts)
	clear(r.Tokens)
	*r = messages.StepResults{Prompts: r.Prompts[:0], Tokens: r.Tokens[:0], Ended: r.Ended[:0], Admitted: r.Admitted[:0]}
	f.spent = append(f.spent, r)
}

// newCommit empties the one CommitPlan that is sent again and again.
func (f *Core) newCommit() *messages.CommitPlan {
	m := &f.commitPlan
	clear(m.Inserts)
	*m = messages.CommitPlan{Inserts: m.Inserts[:0], Unlocks: m.Unlocks[:0], Frees: m.Frees[:0], Reserves: m.Reserves[:0]}
	return m
}
