package observer

import "github.com/troupe-engine/troupe/messages"

// ring keeps the latest events, in order, with consecutive numbers.
type ring struct {
	keep   int // hashes at most, an event without any counts as one
	held   int
	last   uint64 // number of the newest event; 0 before the first
	events []messages.ObservedEvent
}

func weight(e *messages.ObservedEvent) int { return max(1, len(e.Hashes)) }

// add numbers an event and drops old ones.
func (r *ring) add(e messages.ObservedEvent) messages.ObservedEvent {
	r.last++
	e.Seq = r.last
	r.events = append(r.events, e)
	r.held += weight(&e)
	for r.held > r.keep && len(r.events) > 1 {
		r.held -= weight(&r.events[0])
		r.events[0] = messages.ObservedEvent{} // append frees the array when it is full
		r.events = r.events[1:]
	}
	return e
}

// after copies the events after a number. missed: some of them are no longer kept, or
// the number is not of this stream.
func (r *ring) after(seq uint64) (events []messages.ObservedEvent, missed bool) {
	kept := r.events
	oldest := r.last - uint64(len(kept)) // the number before the oldest
	switch {
	case seq > r.last || seq < oldest:
		missed = true
	default:
		kept = kept[seq-oldest:]
	}
	return append([]messages.ObservedEvent(nil), kept...), missed
}
