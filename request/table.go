package request

import (
	"cmp"
	"maps"
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Table is the part of intake that survives crashes: the open requests with
// their accepted tokens and the state of their text. The wiring makes one and
// hands it to every incarnation of intake.
//
// Invariants, checked by check:
//  1. An entry is in the engine only while the engine is up.
//  2. The table drops an entry when its end was delivered (or its client has
//     disconnected) and it is not in the engine.
//  3. queuedTokens is the sum of the prompts of the queued entries, backlog sums
//     up those that wait, running and output count those that run and their
//     output tokens.
//  4. A call is in calls as long as its client waits for an end.
type Table struct {
	opt     TableOptions
	nextID  messages.RequestID
	entries map[messages.RequestID]*entry
	calls   map[messages.CallID]*call
	users   map[userKey]*call // open calls with a UserID

	engine   engine
	compared uint64 // counts the StepResults that were compared with the table

	queuedTokens int
	backlog      backlog
	running      int // entries that run
	output       int // their output tokens
	turnover     int // running requests that ended since the backlog was last empty
	pace         pace

	nextTicket messages.Ticket
	tickets    map[messages.Ticket]messages.ToIntake // open questions to the engine
	draining   bool
	drained    []chan<- struct{} // closed when the table is empty
}

// NewTable makes an empty table. It panics if Validate rejects the options.
func NewTable(opt TableOptions) *Table {
	if err := opt.Validate(); err != nil {
		invariants.Fail("%v", err)
	}
	opt = opt.withDefaults()
	return &Table{opt: opt, pace: newPace(opt.MaxRunning), backlog: backlog{classes: map[class]int{}},
		entries: map[messages.RequestID]*entry{},
		calls:   map[messages.CallID]*call{},
		users:   map[userKey]*call{},
		tickets: map[messages.Ticket]messages.ToIntake{},
	}
}

// Open is the number of requests in the table.
func (t *Table) Open() int { return len(t.entries) }

// inOrder lists the open requests in arrival order.
func (t *Table) inOrder() []*entry { return byID(t.entries) }

// byID lists the values of a map in the order of the keys.
func byID[K cmp.Ordered, V any](m map[K]V) []V {
	list := make([]V, 0, len(m))
	for _, id := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[id])
	}
	return list
}

// named lists the open calls that an abort names, by id.
func (t *Table) named(m *messages.AbortRequests) []*call {
	switch {
	case m.All:
		return byID(t.calls)
	case m.UserID == "":
		return nil // a call without a name cannot be named
	case m.AnyOwner: // several clients may use one name
		var list []*call
		for user, k := range t.users {
			if user.id == m.UserID {
				list = append(list, k)
			}
		}
		slices.SortFunc(list, func(a, b *call) int { return cmp.Compare(a.id, b.id) })
		return list
	}
	if k := t.users[userKey{m.Owner, m.UserID}]; k != nil {
		return []*call{k}
	}
	return nil
}

// closeCall drops a call whose client expects nothing more.
func (t *Table) closeCall(c *call) {
	delete(t.calls, c.id)
	if t.users[c.user] == c {
		delete(t.users, c.user)
	}
}

// drop removes an entry that is no longer needed.
func (t *Table) drop(e *entry) {
	if e.finish != nil && (e.delivered || e.call.disconnected) && e.place != placeEngine {
		delete(t.entries, e.id)
	}
}

// unqueue subtracts an entry from queuedTokens.
func (t *Table) unqueue(e *entry) {
	if e.queued {
		e.queued = false
		t.queuedTokens -= len(e.sub.Prompt)
	}
}

// startWaiting adds an entry to the backlog.
func (t *Table) startWaiting(e *entry) {
	e.waits = true
	t.backlog.change(e, t.opt.classOf(&e.sub), 1)
}

// stopWaiting removes an entry from the backlog. The turnover only counts while
// there is a backlog without a break.
func (t *Table) stopWaiting(e *entry) {
	e.waits = false
	t.backlog.change(e, t.opt.classOf(&e.sub), -1)
	if t.backlog.requests == 0 {
		t.turnover = 0
	}
}

// admitted records that the engine has admitted an entry. From now on its call
// is being worked on.
func (t *Table) admitted(e *entry) {
	if e.waits {
		t.stopWaiting(e)
		e.runs, e.call.begun = true, true
		t.running++
	}
}

// countEnd removes an ended entry from the sums, and measures its size if it ran.
func (t *Table) countEnd(e *entry) {
	if e.waits {
		t.stopWaiting(e)
	}
	if !e.runs {
		return
	}
	e.runs = false
	t.running--
	t.output -= len(e.output)
	t.pace.ended(len(e.sub.Prompt), len(e.output))
	if t.backlog.requests > 0 {
		t.turnover++
	}
}
