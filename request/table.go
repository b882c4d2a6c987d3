package request

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Table is everything that survives a crash: the open requests with their
// accepted tokens and text state. The wiring makes one per engine and hands it
// to every incarnation of intake.
//
// Invariants, checked by check:
//  1. An entry is in the engine only while an epoch stands.
//  2. An entry whose end has reached its client (or whose client is gone) and
//     which is not in the engine is not in the table.
//  3. queuedTokens is the sum of the prompts of the queued entries, line the sums
//     of those that wait, running the number and output the tokens of those that
//     run.
//  4. A call is in calls as long as its client waits for an end.
type Table struct {
	opt     TableOptions
	nextID  messages.RequestID
	entries map[messages.RequestID]*entry
	calls   map[messages.CallID]*call
	users   map[userKey]*call // open calls with a UserID

	engine   messages.Header // the newest incarnation heard of
	standing bool            // its actors take requests
	broken   bool            // FailEpoch was sent; nothing of it counts any more
	seq      uint64          // of the last StepResults accepted in the epoch
	// isolated is the quarantined request that has the engine to itself; 0 for
	// none. It ends with the request's next token, its release or the epoch.
	isolated messages.RequestID
	compared uint64 // counts the StepResults that were compared with the table

	queuedTokens int
	line         line
	running      int // entries that run
	output       int // their output tokens
	turnover     int // of them ended since somebody waits
	pace         pace

	nextTicket messages.Ticket
	tickets    map[messages.Ticket]ticket
	draining   bool
	drained    []chan<- struct{} // closed when the table is empty
}

// NewTable makes an empty table. It panics on options that Validate refuses.
func NewTable(opt TableOptions) *Table {
	if err := opt.Validate(); err != nil {
		invariants.Fail("%v", err)
	}
	opt = opt.withDefaults()
	return &Table{opt: opt, pace: newPace(opt.MaxRunning), line: line{classes: map[class]int{}},
		entries: map[messages.RequestID]*entry{},
		calls:   map[messages.CallID]*call{},
		users:   map[userKey]*call{},
		tickets: map[messages.Ticket]ticket{},
	}
}

// Open is the number of requests in the table.
func (t *Table) Open() int { return len(t.entries) }

// userKey is the name of a call among all owners.
type userKey struct{ owner, id string }

// call is one call of a client.
type call struct {
	id     messages.CallID
	user   userKey
	events chan<- messages.CallEvent
	// entries by index, also those that the table has forgotten.
	entries []*entry
	awaited int  // requests whose Finish the client does not have
	begun   bool // one of its requests was admitted
	paused  bool // the last event took the channel's last place
	gone    bool // the client has left
	// The timeouts of the settings when the call was accepted; 0: never.
	queueTimeout, requestTimeout time.Duration
}

// place is where a request is.
type place uint8

const (
	placeHeld    place = iota // waits for the request named in After
	placeWaiting              // waits for an epoch
	placeEngine               // submitted to the epoch that stands, not released
	placeNone                 // the engine has let go of it, or never needs it
)

var placeNames = [...]string{"held", "waiting", "engine", "none"}

func (p place) String() string { return placeNames[p] }

// placeEdges are the legal changes: [from] holds a bit per to.
var placeEdges = [...]uint8{
	placeHeld:    1<<placeWaiting | 1<<placeNone,
	placeWaiting: 1<<placeEngine | 1<<placeNone,
	placeEngine:  1<<placeWaiting | 1<<placeNone,
}

// entry is one request.
type entry struct {
	id     messages.RequestID
	call   *call
	index  int
	sub    messages.Submission      // as asked for
	params *messages.SamplingParams // with MaxTokens clipped; frozen
	stops  *matcher
	place  place
	// queued: counted in queuedTokens, until the first token or the end.
	queued bool
	// waits: not admitted by the engine yet, in any epoch. runs: admitted, in
	// some epoch, and not over.
	waits, runs bool

	output   []int32 // accepted; only appended to, so prefixes are frozen
	prompted bool    // a PromptResult has come
	cached   int
	logprobs []messages.PositionLogprobs // of the prompt

	stream Stream // nil before the first token, or when it must be rebuilt
	stop   int32  // matcher state
	held   string // text after the final part, see stopStep
	final  int    // bytes of final text
	// Tokens in output order: held ones end after the final text; ready ones
	// do not. ready and text wait for delivery.
	heldTokens []heldToken
	ready      []messages.OutputToken
	text       textBuffer

	finish    *messages.Finish // the client's end, written once
	usage     messages.Usage   // at the end
	promptOut bool             // PromptOutput was delivered
	delivered bool             // Finish was delivered
	cancelled bool             // FinishRequests was sent; such a request enters no other epoch

	suspicion int // crashes in a row without progress

	arrived, lastToken time.Duration

	// endsItself: the end came with its token, which the engine has seen too,
	// so it releases the request unasked.
	endsItself bool
	compared   uint64 // the last StepResults with a token for it, by Table.compared
	brought    int    // tokens that it has for it
	staging    int    // the index of its last change in the core's changes + 1; 0: none
}

// heldToken is an output token whose text ends at byte end of the whole text.
type heldToken struct {
	messages.OutputToken
	end int
}

// become moves an entry to another place.
func (e *entry) become(to place) {
	if placeEdges[e.place]&(1<<to) == 0 {
		invariants.Fail("request %d goes from %s to %s", e.id, e.place, to)
	}
	e.place = to
}

// inOrder lists the open requests in arrival order.
func (t *Table) inOrder() []*entry {
	ids := slices.Sorted(maps.Keys(t.entries))
	list := make([]*entry, len(ids))
	for i, id := range ids {
		list[i] = t.entries[id]
	}
	return list
}

// callsInOrder lists the open calls by id.
func (t *Table) callsInOrder() []*call {
	ids := slices.Sorted(maps.Keys(t.calls))
	list := make([]*call, len(ids))
	for i, id := range ids {
		list[i] = t.calls[id]
	}
	return list
}

// named lists the open calls that an abort means, by id.
func (t *Table) named(m *messages.AbortRequests) []*call {
	switch {
	case m.All:
		return t.callsInOrder()
	case m.UserID == "":
		return nil // calls without a name
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

// closeCall forgets a call whose client needs nothing more.
func (t *Table) closeCall(c *call) {
	delete(t.calls, c.id)
	if t.users[c.user] == c {
		delete(t.users, c.user)
	}
}

// settle forgets an entry that nobody needs any more.
func (t *Table) settle(e *entry) {
	if e.finish != nil && (e.delivered || e.call.gone) && e.place != placeEngine {
		delete(t.entries, e.id)
	}
}

// unqueue takes an entry out of the queued tokens.
func (t *Table) unqueue(e *entry) {
	if e.queued {
		e.queued = false
		t.queuedTokens -= len(e.sub.Prompt)
	}
}

// check verifies the invariants; for tests and the invariants tag.
func (t *Table) check() {
	queued, running, output := 0, 0, 0
	waiting := line{classes: map[class]int{}}
	for id, e := range t.entries {
		invariants.Check(e.id == id, "entry %d stands under %d", e.id, id)
		invariants.Check(e.place != placeEngine || t.standing, "request %d is in the engine but no epoch stands", id)
		invariants.Check(e.finish == nil || e.place == placeEngine || !e.delivered && !e.call.gone, "request %d is over but still open", id)
		invariants.Check(e.finish != nil || e.place != placeNone, "request %d was released without an end", id)
		invariants.Check(!e.queued || e.finish == nil && len(e.output) == 0, "request %d counts as queued", id)
		if e.queued {
			queued += len(e.sub.Prompt)
		}
		if e.waits {
			waiting.requests++
			waiting.prompts += len(e.sub.Prompt)
			waiting.most += e.params.MaxTokens
			if e.params.IgnoreEOS {
				waiting.certain++
				waiting.certainMost += e.params.MaxTokens
			}
			waiting.classes[t.classOf(&e.sub)]++
		}
		if e.runs {
			running++
			output += len(e.output)
		}
		invariants.Check(!e.waits || e.queued, "request %d waits with output", id)
		invariants.Check((e.waits || e.runs) == (e.finish == nil), "request %d waits: %t, runs: %t, is over: %t", id, e.waits, e.runs, e.finish != nil)
		if !e.call.gone && !e.delivered {
			invariants.Check(t.calls[e.call.id] == e.call, "call %d of request %d is not open", e.call.id, id)
		}
	}
	invariants.Check(queued == t.queuedTokens, "%d tokens are queued, %d are counted", queued, t.queuedTokens)
	l := &t.line
	invariants.Check(waiting.requests == l.requests && waiting.prompts == l.prompts && waiting.most == l.most &&
		waiting.certain == l.certain && waiting.certainMost == l.certainMost && maps.Equal(waiting.classes, l.classes),
		"those who wait are %v, counted are %v", waiting, *l)
	invariants.Check(running == t.running && output == t.output, "%d requests run with %d tokens, counted are %d with %d", running, output, t.running, t.output)
	invariants.Check(t.turnover == 0 || l.requests > 0, "nobody waits, and a turnover of %d is counted", t.turnover)
}
