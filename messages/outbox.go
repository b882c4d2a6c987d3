package messages

import "time"

// Outbox is the list of effects that a core asks for: the shell carries them out in order
// and then calls Reset. The zero value is ready to use, for a core that outlives epochs.
// Not safe for concurrent use; each actor reuses its own.
type Outbox struct {
	// Own is the header stamped on what the core sends; zero if it outlives epochs.
	Own Header

	Sends    []Send
	Timers   []Timer
	Readings []Reading
	Notes    []Note
}

// Send is a message to the actor with a role in the core's epoch.
type Send struct {
	To  Actor
	Msg any // of the receiver's set, by pointer, frozen from here on
}

// Timer asks for a message to the sender after a time.
type Timer struct {
	After time.Duration
	Msg   any // named …Due
}

// Reading is one measured value for the metrics.
type Reading struct {
	Metric Metric
	Value  float64
}

// Note is a log line for the operator, rare and without anything of a request's content.
type Note struct {
	Level NoteLevel
	Text  string // one sentence, with the remedy
	// Moved is how many requests an engine has lost that now continue, 0 if the note is
	// about something else, and Pause the longest time between two tokens of one.
	Moved int
	Pause time.Duration
}

// NoteLevel is how urgent a note is.
type NoteLevel uint8

const (
	NoteInfo NoteLevel = iota
	NoteWarning
)

// Each of these methods sends to one actor and takes only messages that it accepts. A
// message must not be changed after it was sent. An engine may have no observer.

func (o *Outbox) ToIntake(m ToIntake)         { o.send(Intake, m) }
func (o *Outbox) ToQueue(m ToQueue)           { o.send(Queue, m) }
func (o *Outbox) ToFormer(m ToFormer)         { o.send(Former, m) }
func (o *Outbox) ToCache(m ToCache)           { o.send(Cache, m) }
func (o *Outbox) ToAllocator(m ToAllocator)   { o.send(Allocator, m) }
func (o *Outbox) ToRunner(m ToRunner)         { o.send(Runner, m) }
func (o *Outbox) ToSupervisor(m ToSupervisor) { o.send(Supervisor, m) }
func (o *Outbox) ToObserver(m ToObserver)     { o.send(Observer, m) }
func (o *Outbox) ToDispatch(m ToDispatch)     { o.send(Dispatch, m) }
func (o *Outbox) ToPortal(m ToPortal)         { o.send(Portal, m) }
func (o *Outbox) ToLink(m ToLink)             { o.send(Link, m) }

// ToPeer sends a frame to the other end of a link.
func (o *Outbox) ToPeer(frame any) { o.send(Peer, frame) }

func (o *Outbox) send(to Actor, msg any) {
	o.stamp(msg)
	o.Sends = append(o.Sends, Send{to, msg})
}

// stamp sets the header of a message that has none. One that has a header is passed on or
// goes back to its pool: another actor may be reading it, so it must not be written to.
func (o *Outbox) stamp(msg any) {
	if s, ok := msg.(stamped); ok && *s.header() == (Header{}) {
		*s.header() = o.Own
	}
}

// Accepts reports whether a message is of the core's own epoch, or of none. All
// others are counted, and the core must not get them.
func (o *Outbox) Accepts(msg any) bool {
	s, ok := msg.(stamped)
	if !ok || o.Own == (Header{}) || *s.header() == o.Own {
		return true
	}
	o.Record(StaleMessages, 1)
	return false
}

// After asks for msg to be delivered to the core after d.
func (o *Outbox) After(d time.Duration, msg any) {
	o.stamp(msg)
	o.Timers = append(o.Timers, Timer{d, msg})
}

// Record appends a counter's increment, a gauge's new value, or a histogram's sample.
func (o *Outbox) Record(m Metric, v float64) { o.Readings = append(o.Readings, Reading{m, v}) }

// Note appends a line for the log.
func (o *Outbox) Note(level NoteLevel, text string) {
	o.Notes = append(o.Notes, Note{Level: level, Text: text})
}

// Reset empties the outbox and keeps its memory.
func (o *Outbox) Reset() {
	clear(o.Sends)
	clear(o.Timers)
	clear(o.Notes)
	o.Sends, o.Timers, o.Readings, o.Notes = o.Sends[:0], o.Timers[:0], o.Readings[:0], o.Notes[:0]
}
