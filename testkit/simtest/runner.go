package simtest

import "github.com/troupe-engine/troupe/messages"

// runner is the twin of actors/runner: one step on the device, the next one
// waits for it. With Config.DeviceQueues it is given to the device at once, which
// keeps the order.
type runner struct {
	busy, failed bool
	waiting      []*messages.RunBatch
}

func (r *runner) step(w *World, msg messages.ToRunner) {
	switch m := msg.(type) {
	case *messages.RunBatch:
		w.stats.Replaced += len(m.Replaced)
		if w.device.Pending() > 0 {
			w.stats.Beside++
		}
		switch {
		case w.device.Pending()+len(r.waiting) > 1:
			w.fail("step %d was launched as the third", m.Step)
		case r.busy && !w.cfg.DeviceQueues:
			r.waiting = append(r.waiting, m)
		default:
			r.submit(w, m)
		}
	case *messages.StepCompleted:
		r.busy, r.failed = w.device.Pending() > 0, m.Failed
		if len(r.waiting) > 0 && !r.failed {
			r.submit(w, r.waiting[0])
			r.waiting = r.waiting[1:]
		}
	}
}

func (r *runner) submit(w *World, m *messages.RunBatch) {
	r.busy = true
	epoch := w.epoch
	w.device.Submit(m, func(done *messages.BatchDone, err error) {
		if epoch != w.epoch {
			return
		}
		if err != nil {
			w.send(messages.Runner, messages.Former, &messages.BatchFailed{Header: m.Header, Step: m.Step, Reason: err.Error()})
		} else {
			w.send(messages.Runner, messages.Former, done)
		}
		w.send(messages.Runner, messages.Runner, &messages.StepCompleted{Header: m.Header, Step: m.Step, Failed: err != nil})
	})
}

// note counts what only shows in messages.
func (w *World) note(to messages.Actor, msg any) {
	switch m := msg.(type) {
	case *messages.BatchDone:
		w.stats.Dropped += len(m.Sampled)
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
