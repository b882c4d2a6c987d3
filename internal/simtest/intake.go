package simtest

import (
	"github.com/troupe-engine/troupe/messages"
)

// arrive lets the next one or more clients submit.
func (w *World) arrive() {
	var batch []*messages.EngineRequest
	for n := pick(w.rnd, 1, 1, 2, 5); n > 0 && w.arrived < len(w.clients); n-- {
		cl := w.clients[w.arrived]
		w.arrived++
		cl.submitted = true
		batch = append(batch, cl.request())
	}
	w.send(messages.Intake, messages.Queue, &messages.EnqueueRequests{Epoch: w.epoch, Requests: batch})
}

// disturb cancels who is due and asks for a flush or an audit now and then.
func (w *World) disturb() {
	for _, cl := range w.clients {
		if cl.cancelAt < 0 || cl.cancelAt > w.stats.Delivered || !cl.submitted || cl.ended {
			continue
		}
		cl.ended, cl.cancelled = true, true
		w.finishRequest(cl)
		if w.rnd.IntN(4) == 0 {
			w.finishRequest(cl) // a repeated one is harmless
		}
	}
	if w.rnd.IntN(300) == 0 && w.arrived < len(w.clients) {
		w.ticket++
		w.asked[w.ticket] = true
		if w.rnd.IntN(2) == 0 {
			w.send(messages.Intake, messages.Batch, &messages.FlushCache{Epoch: w.epoch, Ticket: w.ticket})
		} else {
			w.send(messages.Intake, messages.Batch, &messages.AuditSlots{Epoch: w.epoch, Ticket: w.ticket})
		}
	}
}

func (w *World) finishRequest(cl *client) {
	w.send(messages.Intake, messages.Queue, &messages.FinishRequests{Epoch: w.epoch, IDs: []messages.RequestID{cl.id}})
}

// intake is the twin of intake's core.
func (w *World) intake(msg any) {
	switch m := msg.(type) {
	case *messages.StepResults:
		if m.Epoch == w.epoch {
			w.results(m)
		}
	case *messages.CacheFlushed:
		w.stats.Flushes++
		w.answered(m.Ticket)
	case *messages.FlushRefused:
		w.stats.Refusals++
		w.answered(m.Ticket)
		if m.Running < 1 {
			w.fail("a flush was refused with %d requests running", m.Running)
		}
	case *messages.SlotsAudited:
		w.answered(m.Ticket)
		if !m.OK || !m.Count.Balanced() || m.Count.Total != w.cfg.Pages {
			w.fail("audit %+v", m)
		}
	default:
		w.fail("intake got a %T", msg)
	}
}

func (w *World) answered(t messages.Ticket) {
	if !w.asked[t] {
		w.fail("ticket %d was answered twice, or never asked", t)
	}
	delete(w.asked, t)
}

func (w *World) results(m *messages.StepResults) {
	if w.seq++; m.Seq != w.seq {
		w.fail("results %d follow %d", m.Seq, w.seq-1)
		return
	}
	for i := range m.Prompts {
		if err := w.clients[m.Prompts[i].ID-1].takePrompt(&w.cfg, &m.Prompts[i]); err != nil {
			w.fail("%w", err)
		}
	}
	for i := range m.Tokens {
		cl := w.clients[m.Tokens[i].ID-1]
		finish, err := cl.take(&m.Tokens[i])
		if err != nil {
			w.fail("%w", err)
		}
		if finish {
			w.finishRequest(cl)
		}
	}
	for i := range m.Ended {
		if err := w.clients[m.Ended[i].ID-1].release(&m.Ended[i]); err != nil {
			w.fail("%w", err)
		}
	}
}

// finish checks what must hold when nothing is left to do.
func (w *World) finish() {
	for _, cl := range w.clients {
		if err := cl.finished(&w.cfg); err != nil {
			w.fail("%w", err)
		}
	}
	if v := w.device.Violations(); len(v) > 0 {
		w.fail("the device saw: %s", v[0])
	}
	load, tree := w.former.Load(), w.cache.Tree()
	if load.Running+load.Retracted+load.Leased > 0 || !load.Resting {
		w.fail("the batch former holds %+v at the end", load)
	}
	if tree.Protected() > 0 || w.alloc.Free()+tree.Evictable() != w.cfg.Pages {
		w.fail("%d pages are free, %d evictable, %d protected at the end", w.alloc.Free(), tree.Evictable(), tree.Protected())
	}
	if w.queue.Waiting() > 0 {
		w.fail("%d requests wait at the end", w.queue.Waiting())
	}
	if len(w.asked) > 0 && w.stats.Epochs == 1 {
		w.fail("%d questions have no answer", len(w.asked))
	}
	if w.stats.Steps > 0 && w.stats.Epochs == 1 && w.stats.Audits == 0 {
		w.fail("no audit passed")
	}
}
