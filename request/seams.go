package request

import (
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Detokenizer makes the streams that turn output tokens into text.
type Detokenizer interface {
	// NewStream starts after a prompt. context are the prompt's tokens
	// (frozen); keepSpecial leaves special tokens in the text; continues says
	// that the text goes on after the prompt's, so that a leading space that a
	// vocabulary drops at the start of a text is kept.
	NewStream(context []int32, keepSpecial, continues bool) Stream
}

// Stream is the detokeniser of one output. It must be deterministic: the same
// tokens give the same text, however often it is rebuilt.
type Stream interface {
	// Push takes the next token and returns the text that became complete:
	// whole UTF-8 characters, possibly none.
	Push(id int32) string
	// Flush returns what is left of an unfinished character, as it will be
	// shown at the end of the output. Nothing is pushed afterwards.
	Flush() string
}

// Sink is where events for clients go.
type Sink interface {
	// Room is how many more events the channel takes without blocking.
	Room(ch chan<- messages.CallEvent) int
	// Deliver hands over an event at once; there is room for it.
	Deliver(ch chan<- messages.CallEvent, ev messages.CallEvent)
}

// Channels is the Sink of a running server: it sends on the channel itself.
// Intake is a channel's only sender, so room that was seen stays.
type Channels struct{}

// Room is the free part of the channel's buffer.
func (Channels) Room(ch chan<- messages.CallEvent) int { return cap(ch) - len(ch) }

// Deliver sends without blocking.
func (Channels) Deliver(ch chan<- messages.CallEvent, ev messages.CallEvent) {
	select {
	case ch <- ev:
	default:
		invariants.Fail("a call's channel of capacity %d is full; %T does not fit", cap(ch), ev)
	}
}

// answer replies to an administrative question without blocking. A reply that
// nobody has room for is dropped: its asker broke the contract.
func answer[T any](reply chan<- T, value T) {
	select {
	case reply <- value:
	default:
	}
}
