package simtest

import "github.com/troupe-engine/troupe/messages"

// runner is the twin of actors/runner: every step goes to the device at once,
// which keeps their order; the first failure of an epoch is answered.
type runner struct{ failed bool }

func (r *runner) step(e *engine, msg messages.ToRunner) {
	m, is := msg.(*messages.RunBatch)
	if !is || r.failed {
		return
	}
	e.stats.Replaced += len(m.Replaced)
	if e.device.Pending() > 0 {
		e.stats.Beside++
	}
	for _, row := range m.Opened {
		e.fatal = e.fatal || e.poisonous(row.Request.Prompt)
	}
	epoch, header, step := e.epoch, m.Header, m.Step
	e.device.Submit(m, func(done *messages.BatchDone, err error) {
		switch {
		case epoch != e.epoch:
		case err == nil:
			e.send(e.at(messages.Runner), messages.Former, done)
		case !r.failed:
			r.failed = true
			e.send(e.at(messages.Runner), messages.Former, &messages.BatchFailed{Header: header, Step: step, Reason: err.Error()})
		}
	})
}

// resetDevice begins an epoch on the device.
func (e *engine) resetDevice() {
	e.device.Reset(func(id messages.RequestID) {
		e.send(e.at(messages.Runner), messages.Former, &messages.MaskReady{Header: e.header(), ID: id})
	})
}

// note counts what only shows in messages.
func (e *engine) note(to messages.Actor, msg any) {
	switch m := msg.(type) {
	case *messages.BatchDone:
		e.stats.Dropped += len(m.Sampled)
		e.stats.Late += len(m.Late)
		for i := 1; i < len(m.Sampled); i++ {
			if m.Sampled[i].Row == m.Sampled[i-1].Row {
				e.stats.Several++
			}
		}
	case *messages.CommitPlan:
		e.fenced = make(map[messages.RequestID]bool)
		for i := range m.Inserts {
			e.fenced[m.Inserts[i].ID] = m.Inserts[i].KeepCopies
		}
	case *messages.PagesReserved:
		for i := range m.Inserted {
			if e.fenced[m.Inserted[i].ID] {
				e.stats.Copies += len(m.Inserted[i].Pages)
			}
		}
	}
}

// noteDropped counts the tokens that reach intake.
func (w *World) noteDropped(to messages.Actor, msg any) {
	if m, ok := msg.(*messages.StepResults); ok && to == messages.Intake {
		w.stats.Dropped -= len(m.Tokens)
	}
}
