package simtest

import "github.com/troupe-engine/troupe/messages"

// runner is the twin of actors/runner: every step goes to the device at once,
// which keeps their order; the first failure of an epoch is answered.
type runner struct{ failed bool }

func (r *runner) step(w *World, msg messages.ToRunner) {
	m, is := msg.(*messages.RunBatch)
	if !is || r.failed {
		return
	}
	w.stats.Replaced += len(m.Replaced)
	if w.device.Pending() > 0 {
		w.stats.Beside++
	}
	epoch, header, step := w.epoch, m.Header, m.Step
	w.device.Submit(m, func(done *messages.BatchDone, err error) {
		switch {
		case epoch != w.epoch:
		case err == nil:
			w.send(messages.Runner, messages.Former, done)
		case !r.failed:
			r.failed = true
			w.send(messages.Runner, messages.Former, &messages.BatchFailed{Header: header, Step: step, Reason: err.Error()})
		}
	})
}

// note counts what only shows in messages.
func (w *World) note(to messages.Actor, msg any) {
	switch m := msg.(type) {
	case *messages.BatchDone:
		w.stats.Dropped += len(m.Sampled)
		for i := 1; i < len(m.Sampled); i++ {
			if m.Sampled[i].Row == m.Sampled[i-1].Row {
				w.stats.Several++
			}
		}
	case *messages.StepResults:
		if to == messages.Intake { // the queue may get it as well
			w.stats.Dropped -= len(m.Tokens)
		}
	case *messages.CommitPlan:
		w.fenced = make(map[messages.RequestID]bool)
		for i := range m.Inserts {
			w.fenced[m.Inserts[i].ID] = m.Inserts[i].KeepCopies
		}
	case *messages.PagesReserved:
		for i := range m.Inserted {
			if w.fenced[m.Inserted[i].ID] {
				w.stats.Copies += len(m.Inserted[i].Pages)
			}
		}
	}
}
