package simtest

import (
	"fmt"
	"hash/fnv"

	"github.com/troupe-engine/troupe/messages"
)

// link is the way from one role to another.
type link struct{ from, to messages.Actor }

// send puts a message on its link.
func (w *World) send(from, to messages.Actor, msg any) {
	l := link{from, to}
	if w.weight[l] == 0 {
		w.links = append(w.links, l)
		w.weight[l] = pick(w.rnd, 10, 40, 300)
	}
	switch m := msg.(type) {
	case *messages.EnqueueRequests:
		for i, r := range m.Requests {
			if w.byID[r.ID-1].alone && !r.Alone {
				copied := *r
				copied.Alone = true
				m.Requests[i] = &copied
			}
		}
	case *messages.FinishRequests:
		if from == messages.Intake && w.rnd.IntN(8) == 0 {
			w.mail[l] = append(w.mail[l], msg) // a repeated one is harmless
		}
	case *messages.FailEpoch:
		w.failed = from == messages.Batch
	case *messages.CommitPlan:
		if len(m.Reserves) == 0 && len(m.Unlocks)+len(m.Inserts) > 0 {
			w.stats.Settled++
		}
	}
	w.count(msg, 1)
	w.frozen.note(msg)
	w.mail[l] = append(w.mail[l], msg)
}

// count follows the messages of a plan's second round.
func (w *World) count(msg any, n int) {
	switch msg.(type) {
	case *messages.CommitPlan, *messages.ReservePages, *messages.PagesReserved:
		w.plans += n
	}
}

// eager is how eagerly a link moves: more so when much waits on it, as a mailbox
// is drained in batches.
func (w *World) eager(l link) int { return w.weight[l] * (1 + len(w.mail[l])/8) }

// eagerness is the weight of everything that can move.
func (w *World) eagerness() int {
	total := 0
	for _, l := range w.links {
		if len(w.mail[l]) > 0 {
			total += w.eager(l)
		}
	}
	if w.device.Pending() > 0 {
		total += w.pace
	}
	return total
}

// frozen remembers the last messages whose slices nobody may change, neither
// the sender, who has given them away, nor a receiver who only reads.
type frozen struct {
	on   bool
	last [32]struct {
		msg any
		sum uint64
	}
	at int
}

func (f *frozen) note(msg any) {
	if !f.on {
		return
	}
	switch msg.(type) {
	case *messages.RunBatch, *messages.LockPrefixes, *messages.StepResults, *messages.FinishRequests, *messages.ClaimCandidates, *messages.PrefixesLocked:
		slot := &f.last[f.at%len(f.last)]
		slot.msg, slot.sum = msg, sum(msg)
		f.at++
	}
}

func (f *frozen) check(w *World) {
	for i := range f.last {
		if slot := &f.last[i]; slot.msg != nil && w.stats.Delivered%8 == 0 && slot.sum != sum(slot.msg) {
			w.fail("a %T was changed after it was sent", slot.msg)
		}
	}
}

func sum(msg any) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v", msg)
	return h.Sum64()
}
