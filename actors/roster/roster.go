// Package roster counts what the actors of a process do, for operators: an entry for each
// actor, fed by its mailbox. Paths are the same in every epoch.
package roster

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/cluster/report"
)

// Roster has the actors of a process. Safe for concurrent use. A nil one counts nothing.
type Roster struct {
	mu      sync.Mutex // of the map; entries are atomic
	entries map[string]*Entry
	last    atomic.Pointer[report.Failure]
	failed  func(path, cause string, again bool)
}

// New returns an empty Roster. failed, if not nil, is called at each failure of an actor,
// on any goroutine; it must not block. again says that the same actor goes on, and not
// one of a later epoch.
func New(failed func(path, cause string, again bool)) *Roster {
	return &Roster{entries: map[string]*Entry{}, failed: failed}
}

// LastFailure is the last one of any actor; nil if none has failed.
func (r *Roster) LastFailure() *report.Failure { return r.last.Load() }

// Entry is one actor, over all its incarnations.
type Entry struct {
	path, role string
	roster     *Roster
	mailbox    mailboxCounts
	spawned    atomic.Uint64
	restarts   atomic.Uint64 // without a new process
	state      atomic.Uint32
	last       atomic.Pointer[report.Failure]
	begun      atomic.Uint64          // incarnations that have told so
	peer       atomic.Pointer[string] // as in For
	crashed    atomic.Bool            // it has failed, and has ended with that
	armed      atomic.Pointer[string] // why it must crash at its next message
}

// The states that the mailbox does not tell.
const (
	running uint32 = iota
	restarting
	stopped
)

// Entry returns the entry of a path, a new one at its first call.
func (r *Roster) Entry(path, role string) *Entry {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[path]
	if e == nil {
		e = &Entry{path: path, role: role, roster: r}
		r.entries[path] = e
	}
	return e
}

// Find returns the entry of a path, or nil.
func (r *Roster) Find(path string) *Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries[path]
}

// Actors lists the actors by path. Node is left empty.
func (r *Roster) Actors() []report.Actor {
	r.mu.Lock()
	entries := make([]*Entry, 0, len(r.entries))
	for _, e := range r.entries {
		entries = append(entries, e)
	}
	r.mu.Unlock()
	slices.SortFunc(entries, func(a, b *Entry) int { return cmp.Compare(a.path, b.path) })
	list := make([]report.Actor, len(entries))
	for i, e := range entries {
		list[i] = e.report()
	}
	return list
}

// Restarts is the number of restarts of all actors.
func (r *Roster) Restarts() int {
	n := 0
	for _, a := range r.Actors() {
		n += a.Restarts
	}
	return n
}

func (e *Entry) report() report.Actor {
	waiting, peak, handled, busy, busyFor := e.mailbox.read()
	a := report.Actor{Path: e.path, Role: e.role, State: report.Idle, Mailbox: waiting, MailboxPeak: peak, Handled: handled,
		Peer: e.peerName(), Restarts: int(max(e.spawned.Load(), 1) - 1 + e.restarts.Load()), BusyMS: float64(busyFor) / float64(time.Millisecond), LastFailure: e.last.Load()}
	switch {
	case e.state.Load() == stopped:
		a.State = report.Stopped
	case e.state.Load() == restarting:
		a.State = report.Restarting
	case busy || waiting > 0:
		a.State = report.Busy
	}
	return a
}

// For says which node the actor, an end of a link, is for from now on. It is another actor
// than the last one of its path, and a restart only if that one has failed.
func (e *Entry) For(node string) {
	if e == nil {
		return
	}
	e.peer.Store(&node)
	e.spawned.Store(0)
	if e.crashed.Swap(false) {
		e.restarts.Add(1)
	}
}

func (e *Entry) peerName() string {
	if name := e.peer.Load(); name != nil {
		return *name
	}
	return ""
}

// Path is the actor's name for people.
func (e *Entry) Path() string {
	if e == nil {
		return ""
	}
	return e.path
}

// Options count the messages of an actor with these props.
func (e *Entry) Options() []actor.PropsOption {
	if e == nil {
		return nil
	}
	inner := actor.Unbounded()
	return []actor.PropsOption{actor.WithMailbox(func() actor.Mailbox { return &mailbox{Mailbox: inner(), entry: e} })}
}

// Failed records that the actor has failed. again says that the same process goes on with
// a new incarnation.
func (e *Entry) Failed(cause string, again bool) {
	if e == nil {
		return
	}
	last := &report.Failure{At: time.Now(), Actor: e.path, Cause: cause}
	e.last.Store(last)
	e.roster.last.Store(last)
	if again {
		e.restarts.Add(1)
	} else {
		e.crashed.Store(true)
	}
	if e.roster.failed != nil {
		e.roster.failed(e.path, cause, again)
	}
}

// LastFailure is the actor's last failure, nil if there was none.
func (e *Entry) LastFailure() *report.Failure { return e.last.Load() }

// Begin says that an incarnation of the actor has begun, Begun how many have.
func (e *Entry) Begin() {
	if e != nil {
		e.begun.Add(1)
	}
}
func (e *Entry) Begun() uint64 { return e.begun.Load() }

// Restarted counts a restart that an operator has asked for.
func (e *Entry) Restarted() {
	if e != nil {
		e.restarts.Add(1)
	}
}

// Restarting and Stopped say that the actor does not run at present, or for good.
func (e *Entry) Restarting() { e.set(restarting) }
func (e *Entry) Stopped()    { e.set(stopped) }

// IsStopped reports whether the actor has stopped for good.
func (e *Entry) IsStopped() bool { return e.state.Load() == stopped }

func (e *Entry) set(state uint32) {
	if e != nil {
		e.state.Store(state)
	}
}
