package request

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Sink is where events for clients go.
type Sink interface {
	// Room is how many more events the channel accepts without blocking.
	Room(ch chan<- messages.CallEvent) int
	// Deliver sends an event at once. The caller has checked Room.
	Deliver(ch chan<- messages.CallEvent, ev messages.CallEvent)
}

// Channels is the Sink of a running server: it sends on the channel itself. Only intake
// sends on a call's channel, so its free space does not shrink between Room and Deliver.
type Channels struct{}

func (Channels) Room(ch chan<- messages.CallEvent) int { return cap(ch) - len(ch) }

func (Channels) Deliver(ch chan<- messages.CallEvent, ev messages.CallEvent) {
	select {
	case ch <- ev:
	default:
		invariants.Fail("a call's channel of capacity %d is full; %T does not fit", cap(ch), ev)
	}
}
