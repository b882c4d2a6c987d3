package request

import (
	"cmp"
	"maps"
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Table is the part of intake that survives crashes: the open requests with their
// accepted tokens and the state of their text. Each incarnation works on the same one.
//
// Invariants, see check:
//  1. An entry is in the engine only while the engine is up.
//  2. The table drops an entry when its end was delivered, or its client has
//     disconnected, and it is not in the engine.
//  3. queuedTokens is the sum of the prompts of the queued entries, backlog sums up those
//     that wait, running and output count those that run and their output tokens.
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
	throughput   throughput
	moves        moves

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
	opt.MaxStopBytes = cmp.Or(opt.MaxStopBytes, 4096)
	opt.SuspectLimit = cmp.Or(opt.SuspectLimit, 2)
	opt.MaxRunning = cmp.Or(opt.MaxRunning, 1)
	return &Table{opt: opt, throughput: newThroughput(opt.MaxRunning), backlog: backlog{classes: map[class]int{}},
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

// closeCall drops a call that needs no more events.
func (t *Table) closeCall(c *call) {
	delete(t.calls, c.id)
	if t.users[c.user] == c {
		delete(t.users, c.user)
	}
}

func (t *Table) drop(e *entry) {
	if e.finish != nil && (e.delivered || e.call.disconnected) && e.place != placeEngine {
		delete(t.entries, e.id)
	}
}

// check verifies the invariants, in tests and with the build tag invariants.
func (t *Table) check() {
	queued, running, output := 0, 0, 0
	waiting := backlog{classes: map[class]int{}}
	for id, e := range t.entries {
		invariants.Check(e.id == id, "entry %d is stored under %d", e.id, id)
		invariants.Check(e.place != placeEngine || t.engine.up, "request %d is in an engine that is down", id)
		invariants.Check(e.finish == nil || e.place == placeEngine || !e.delivered && !e.call.disconnected, "request %d is finished but still in the table", id)
		invariants.Check(e.finish != nil || e.place != placeNone, "request %d was released but has not ended", id)
		invariants.Check(!e.queued || e.finish == nil && len(e.output) == 0, "request %d is queued although it has output or an end", id)
		if e.queued {
			queued += len(e.sub.Prompt)
		}
		if e.waits {
			waiting.change(e, t.opt.classOf(&e.sub), 1)
		}
		if e.runs {
			running++
			output += len(e.output)
		}
		invariants.Check(!e.waits || e.queued, "request %d waits with output", id)
		invariants.Check((e.waits || e.runs) == (e.finish == nil), "request %d waits: %t, runs: %t, has ended: %t", id, e.waits, e.runs, e.finish != nil)
		if !e.call.disconnected && !e.delivered {
			invariants.Check(t.calls[e.call.id] == e.call, "call %d of request %d is not open", e.call.id, id)
		}
	}
	invariants.Check(queued == t.queuedTokens, "%d tokens are queued, but %d are counted", queued, t.queuedTokens)
	b := t.backlog
	same := maps.Equal(waiting.classes, b.classes)
	waiting.classes, b.classes = nil, nil
	invariants.Check(same && waiting.requests == b.requests && waiting.prompts == b.prompts && waiting.outputs == b.outputs &&
		waiting.fixed == b.fixed && waiting.fixedOutputs == b.fixedOutputs,
		"the backlog is %+v, want %+v, with the same classes: %t", b, waiting, same)
	invariants.Check(running == t.running && output == t.output, "%d requests run with %d tokens, but %d with %d are counted", running, output, t.running, t.output)
	invariants.Check(t.turnover == 0 || b.requests > 0, "the turnover is %d without a backlog", t.turnover)
}
