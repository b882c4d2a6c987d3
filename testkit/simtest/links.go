package simtest

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// place is a role of the world, or of one engine.
type place struct {
	role   messages.Actor
	engine *engine // nil for clients and what is in a gateway
	// gateway is nil for what is in an engine, unless both are one process.
	gateway *gateway
	link    *bridge // for an end of a link
}

// dead reports whether the process of a place has died and was not started again.
func (p place) dead() bool {
	return p.engine != nil && p.engine.dead || p.gateway != nil && p.gateway.dead
}

// outlives reports whether a place of an engine is not of its epoch.
func (p place) outlives() bool { return p.role == messages.Portal || p.role == messages.Link }

// ofEpoch reports whether a core of a place is of its engine's epoch.
func (p place) ofEpoch() bool {
	return p.engine != nil && p.role != messages.Supervisor && !p.outlives()
}

func (e *engine) at(role messages.Actor) place { return place{role: role, engine: e} }

// way is the way from one place to another.
type way struct{ from, to place }

// reach finds the place of a role for a sender: dispatch, if there is one, acts as an
// engine to intake, and as intake to an engine. So do links and portals between them.
func (w *World) reach(from place, to messages.Actor, msg any) place {
	g, e := from.gateway, from.engine
	switch from.role {
	case messages.Client:
		return g.at(to)
	case messages.Intake:
		if g.dispatch != nil {
			return g.at(messages.Dispatch)
		}
		return w.engines[0].at(to)
	case messages.Dispatch:
		switch i := messages.HeaderOf(msg).Engine; {
		case to == messages.Intake:
			return g.at(to)
		case w.cfg.Cluster:
			return w.between(g, w.engines[i]).nearEnd()
		default:
			return w.engines[i].at(to)
		}
	case messages.Link:
		switch {
		case to == messages.Peer && g != nil:
			return from.link.farEnd()
		case to == messages.Peer:
			return from.link.nearEnd()
		case g != nil:
			return g.at(messages.Dispatch)
		}
		return e.at(messages.Portal)
	}
	switch out := to == messages.Intake || to == messages.Observer; {
	case (out || to == messages.Link) && from.role == messages.Portal:
		return w.between(w.gateways[messages.HeaderOf(msg).Engine], e).farEnd()
	case out && w.cfg.Cluster:
		return e.at(messages.Portal)
	case out && w.several():
		return w.gateways[0].at(messages.Dispatch)
	case out:
		return w.gateways[0].at(to)
	}
	return e.at(to)
}

// send puts a message on its way.
func (w *World) send(from place, role messages.Actor, msg any) {
	if from.role == messages.Dispatch && role == messages.Observer {
		return // there is no observer
	}
	to := w.reach(from, role, msg)
	l := w.open(way{from, to})
	switch m := frame(msg).(type) {
	case []byte:
		msg = m
	case *messages.EnqueueRequests:
		for i, r := range m.Requests {
			if from.role != messages.Intake {
				break // an engine of a cluster knows other ids
			}
			if from.gateway.byID[r.ID-1].alone && !r.Alone {
				copied := *r
				copied.Alone = true
				m.Requests[i] = &copied
			}
		}
	case *messages.FinishRequests:
		if from.role == messages.Intake && w.rnd.IntN(8) == 0 {
			w.mail[l] = append(w.mail[l], msg) // a repeated one is harmless
		}
	case *messages.FailEpoch:
		if from.role == messages.Former {
			from.engine.failed = true
		}
	case *messages.CommitPlan:
		if len(m.Reserves) == 0 && len(m.Unlocks)+len(m.Inserts) > 0 {
			w.stats.Settled++
		}
	}
	if e := from.engine; e != nil {
		e.count(msg, 1)
		e.frozen.note(e, msg)
	}
	w.mail[l] = append(w.mail[l], msg)
}

// open returns a way, which is new at its first use.
func (w *World) open(l way) way {
	if w.weight[l] == 0 {
		w.links = append(w.links, l)
		w.weight[l] = pick(w.rnd, 10, 40, 300)
	}
	return l
}

// count follows the messages of a plan's second round.
func (e *engine) count(msg any, n int) {
	switch msg.(type) {
	case *messages.CommitPlan, *messages.ReservePages, *messages.PagesReserved:
		e.plans += n
	}
}

// eager is how eagerly a link moves: more so when much waits on it, as a mailbox
// is drained in batches.
func (w *World) eager(l way) int { return w.weight[l] * (1 + len(w.mail[l])/8) }

// eagerness is the weight of everything that can move.
func (w *World) eagerness() int {
	total := 0
	for _, l := range w.links {
		if len(w.mail[l]) > 0 {
			total += w.eager(l)
		}
	}
	for _, e := range w.engines {
		if e.device.Pending() > 0 {
			total += w.pace
		}
	}
	return total
}

// frozen remembers messages that must not change: the sender has given them away,
// and receivers only read. What is sent every step is pooled (see package messages):
// it is frozen until its memory returns to the sender.
type frozen struct {
	on    bool
	epoch messages.Epoch
	sent  map[any]uint64
	order []any // as sent
}

// frozenMessages bounds how many are remembered.
const frozenMessages = 64

// note remembers a message that is sent.
func (f *frozen) note(e *engine, msg any) {
	if !f.on {
		return
	}
	if f.epoch != e.epoch || f.sent == nil {
		f.epoch, f.sent, f.order = e.epoch, map[any]uint64{}, nil
	}
	switch m := msg.(type) {
	case *messages.CommitPlan:
		f.release(e, func(old any) bool { _, ok := old.(*messages.PagesReserved); return ok })
	case *messages.RunBatch:
		f.release(e, func(old any) bool {
			done, ok := old.(*messages.BatchDone)
			return ok && done.Step+2 <= m.Step
		})
	case *messages.StepResults, *messages.LockPrefixes, *messages.FinishRequests, *messages.ClaimCandidates, *messages.PrefixesLocked,
		*messages.ReservePages, *messages.PagesReserved, *messages.BatchDone:
	default:
		return
	}
	if _, again := f.sent[msg]; again {
		return // sent on, or on its way home
	}
	f.sent[msg] = sum(msg)
	if f.order = append(f.order, msg); len(f.order) > frozenMessages {
		delete(f.sent, f.order[0])
		f.order = f.order[1:]
	}
}

// arrived looks at them all now and then, and forgets those whose memory a message
// returns.
func (f *frozen) arrived(e *engine, to messages.Actor, msg any) {
	if !f.on || f.epoch != e.epoch {
		return
	}
	if e.stats.Delivered%8 == 0 {
		for _, m := range f.order {
			f.check(e, m)
		}
	}
	if to != messages.Former {
		return
	}
	switch m := msg.(type) {
	case *messages.BatchDone:
		f.release(e, func(old any) bool { b, ok := old.(*messages.RunBatch); return ok && b.Step == m.Step })
	case *messages.StepResults:
		f.release(e, func(old any) bool { return old == msg })
	case *messages.PagesReserved:
		f.release(e, func(old any) bool {
			switch old.(type) {
			case *messages.CommitPlan, *messages.ReservePages:
				return true
			}
			return false
		})
	}
}

// release looks at messages for the last time and forgets them.
func (f *frozen) release(e *engine, home func(any) bool) {
	f.order = slices.DeleteFunc(f.order, func(m any) bool {
		if !home(m) {
			return false
		}
		f.check(e, m)
		delete(f.sent, m)
		return true
	})
}

func (f *frozen) check(e *engine, msg any) {
	if f.sent[msg] != sum(msg) {
		e.fail("a %T was changed after it was sent", msg)
	}
}

func sum(msg any) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v", msg)
	return h.Sum64()
}
