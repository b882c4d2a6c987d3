package request

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Detokenizer makes the streams that turn output tokens into text.
type Detokenizer interface {
	// NewStream starts after a prompt, whose tokens are context (frozen). keepSpecial
	// leaves special tokens in the text. continues: the text continues the prompt's, so a
	// leading space is kept which a vocabulary would drop at the start of a text.
	NewStream(context []int32, keepSpecial, continues bool) Stream
}

// Stream is the detokeniser of one output. It must be deterministic: the same
// tokens give the same text, however often it is rebuilt.
type Stream interface {
	// Push takes the next token and returns the text that it completes: whole
	// UTF-8 characters, possibly none.
	Push(id int32) string
	// Flush returns the rest of an unfinished character as it is shown at the end
	// of the output. No tokens are pushed after it.
	Flush() string
}

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

// answer replies to an administrative question without blocking. The reply is
// dropped if the channel is full, which the protocol rules out.
func answer[T any](reply chan<- T, value T) {
	select {
	case reply <- value:
	default:
	}
}
