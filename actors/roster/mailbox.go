package roster

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// mailboxCounts are the counts of an actor's mailbox. They go on over its incarnations.
type mailboxCounts struct {
	posted  atomic.Uint64
	begun   atomic.Uint64 // handled, or being handled; written by the mailbox's goroutine
	peak    atomic.Uint64
	busy    atomic.Bool
	busyFor atomic.Int64 // nanoseconds, from a sample
}

func (c *mailboxCounts) read() (waiting, peak int, handled uint64, busy bool, busyFor time.Duration) {
	handled = c.begun.Load() // first: it is never above posted
	return int(c.posted.Load() - handled), int(c.peak.Load()), handled, c.busy.Load(), time.Duration(c.busyFor.Load())
}

// mailbox is the runtime's, with counts.
type mailbox struct {
	actor.Mailbox
	entry *Entry
}

// RegisterHandlers implements actor.Mailbox. The runtime calls it for each new process.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	c := &m.entry.mailbox
	c.begun.Store(c.posted.Load()) // what the last process left is lost
	c.busy.Store(false)
	m.entry.spawned.Add(1)
	m.entry.set(running)
	m.Mailbox.RegisterHandlers(&counting{invoker, c}, dispatcher)
}

// PostUserMessage implements actor.Mailbox.
func (m *mailbox) PostUserMessage(message any) {
	c := &m.entry.mailbox
	waiting := c.posted.Add(1) - c.begun.Load()
	if waiting > c.peak.Load() && waiting < 1<<63 {
		c.peak.Store(waiting) // another sender may store less at the same time: an approximate peak is enough
	}
	m.Mailbox.PostUserMessage(message)
}

// counting is the invoker of a mailbox.
type counting struct {
	actor.MessageInvoker
	counts *mailboxCounts
}

// One message in sample is timed; its time counts for all of them.
const sample = 32

// InvokeUserMessage implements actor.MessageInvoker.
func (c *counting) InvokeUserMessage(message any) {
	n := c.counts.begun.Add(1)
	c.counts.busy.Store(true)
	if n%sample == 0 {
		begun := time.Now()
		c.MessageInvoker.InvokeUserMessage(message)
		c.counts.busyFor.Add(sample * int64(time.Since(begun)))
	} else {
		c.MessageInvoker.InvokeUserMessage(message)
	}
	c.counts.busy.Store(false)
}
