package messages

import "time"

// Outbox is the list of effects that a core's Step asks for; the core performs
// none itself. The shell carries them out in order and then calls Reset. The
// zero value is ready. Not safe for concurrent use; one per actor, reused.
type Outbox struct {
	Sends    []Send
	Timers   []Timer
	Readings []Reading
	Notes    []Note
}

// Send is a message to the actor with a role in the core's own epoch.
type Send struct {
	To  Actor
	Msg any // one of the To… sets, by pointer, frozen from here on
}

// Timer asks for a message to oneself after a time.
type Timer struct {
	After time.Duration
	Msg   any // named …Due
}

// Reading is one measured value for the metrics.
type Reading struct {
	Metric Metric
	Value  float64
}

// Note is a line for the log, for the person who runs the engine: rare, and
// without anything of a request's content.
type Note struct {
	Level NoteLevel
	Text  string // one sentence with the remedy
}

// NoteLevel is how urgent a note is.
type NoteLevel uint8

// The levels of notes.
const (
	NoteInfo NoteLevel = iota
	NoteWarning
)

// Send appends a message. msg must not be changed afterwards.
func (o *Outbox) Send(to Actor, msg any) { o.Sends = append(o.Sends, Send{to, msg}) }

// After asks for msg back after d.
func (o *Outbox) After(d time.Duration, msg any) { o.Timers = append(o.Timers, Timer{d, msg}) }

// Record appends a reading: an increment for a counter, the new value for a
// gauge, a sample for a histogram.
func (o *Outbox) Record(m Metric, v float64) { o.Readings = append(o.Readings, Reading{m, v}) }

// Note appends a line for the log.
func (o *Outbox) Note(level NoteLevel, text string) { o.Notes = append(o.Notes, Note{level, text}) }

// Current reports whether a message of an epoch is for a core of the epoch own.
// A message of another one is counted here and must be ignored.
func (o *Outbox) Current(own, epoch Epoch) bool {
	if own != epoch {
		o.Record(StaleMessages, 1)
	}
	return own == epoch
}

// Reset empties the outbox and keeps its memory.
func (o *Outbox) Reset() {
	clear(o.Sends)
	clear(o.Timers)
	o.Sends, o.Timers, o.Readings = o.Sends[:0], o.Timers[:0], o.Readings[:0]
	clear(o.Notes)
	o.Notes = o.Notes[:0]
}
