package former

import "github.com/troupe-engine/troupe/messages"

// reports are results on their way to intake, and to the queue if its policy needs them.
type reports struct {
	opt           *Options
	seq           uint64 // of the newest StepResults
	ended         []messages.RequestEnded
	newlyAdmitted []messages.RequestID
	freeList      []*messages.StepResults
}

// maxFreeResults bounds the free list; more are left to the garbage collector.
const maxFreeResults = 4

// end adds the end of a request outside a step's results.
func (r *reports) end(id messages.RequestID) {
	r.ended = append(r.ended, messages.RequestEnded{ID: id, Reason: messages.EndCancelled})
}

// next returns empty results with the next number.
func (r *reports) next(step messages.StepID) *messages.StepResults {
	var m *messages.StepResults
	if n := len(r.freeList); n > 0 {
		m, r.freeList[n-1] = r.freeList[n-1], nil
		r.freeList = r.freeList[:n-1]
	} else {
		m = &messages.StepResults{}
	}
	r.seq++
	m.Seq, m.Step = r.seq, step
	return m
}

// send adds what has happened outside a step's results to them, and sends them.
func (r *reports) send(m *messages.StepResults, out *messages.Outbox) {
	m.Admitted, m.Ended = append(m.Admitted, r.newlyAdmitted...), append(m.Ended, r.ended...)
	r.newlyAdmitted, r.ended = r.newlyAdmitted[:0], r.ended[:0]
	out.ToIntake(m)
	if r.opt.ReportToQueue {
		out.ToQueue(m)
	}
}

// recycle takes results back that intake has read.
func (r *reports) recycle(m *messages.StepResults) {
	if len(r.freeList) == maxFreeResults || r.opt.ReportToQueue { // the queue may still read it
		return
	}
	clear(m.Prompts)
	clear(m.Tokens)
	*m = messages.StepResults{Prompts: m.Prompts[:0], Tokens: m.Tokens[:0], Ended: m.Ended[:0], Admitted: m.Admitted[:0]}
	r.freeList = append(r.freeList, m)
}
