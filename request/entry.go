package request

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// userKey is the name of a call among all owners.
type userKey struct{ owner, id string }

type call struct {
	id           messages.CallID
	user         userKey
	events       chan<- messages.CallEvent
	entries      []*entry // by index, including those that are no longer in the table
	awaited      int      // requests whose Finish was not delivered
	begun        bool     // one of its requests was admitted
	paused       bool     // the last event took the channel's last free place
	disconnected bool     // its client is no longer there

	// The timeouts when the call was accepted; 0: never.
	queueTimeout, requestTimeout time.Duration
}

type place uint8

const (
	placeHeld    place = iota // waits for the request named in After
	placeWaiting              // waits until an epoch is up
	placeEngine               // submitted to the current epoch, not released
	placeNone                 // released by the engine, or never submitted
)

var placeNames = [...]string{"held", "waiting", "engine", "none"}

func (p place) String() string { return placeNames[p] }

// placeEdges are the legal changes: [from] has one bit per to.
var placeEdges = [...]uint8{
	placeHeld:    1<<placeWaiting | 1<<placeNone,
	placeWaiting: 1<<placeEngine | 1<<placeNone,
	placeEngine:  1<<placeWaiting | 1<<placeNone,
}

type entry struct {
	id     messages.RequestID
	call   *call
	index  int
	sub    messages.Submission      // as the client sent it
	params *messages.SamplingParams // with MaxTokens clipped; frozen
	stops  *matcher
	place  place
	queued bool // its prompt counts in queuedTokens, until the first token or the end
	waits  bool // no epoch has admitted it yet
	runs   bool // an epoch has admitted it, and it has not ended

	output      []int32 // accepted tokens; only appended to, so prefixes are frozen
	fingerprint string  // of the engine that computed output
	prompted    bool    // a PromptResult has come
	cached      int
	logprobs    []messages.PositionLogprobs // of the prompt

	stream     Stream                 // nil before the first token, or when it must be rebuilt
	pushed     int                    // the tokens that it has got
	stop       int32                  // state of stops
	held       string                 // text after the final part, see stopStep
	final      int                    // bytes of final text
	heldTokens []heldToken            // in output order, with ends after the final text
	ready      []messages.OutputToken // the tokens before them, for delivery
	text       textBuffer             // for delivery

	finish    *messages.Finish // the end that the client sees, written once
	usage     messages.Usage   // at the end
	promptOut bool             // PromptOutput was delivered
	delivered bool             // Finish was delivered
	cancelled bool             // FinishRequests was sent in the current epoch

	moved     bool // an engine has lost it since its last token
	suspicion int  // crashes in a row without progress

	arrived, lastToken time.Duration

	endsItself bool   // its last token ends it, so the engine releases it by itself
	compared   uint64 // value of Table.compared at the last token
	brought    int    // its tokens in that StepResults
	staged     int    // 1 + the index of its newest change in the Core's list
}

// heldToken is an output token whose text ends at byte end of the whole text.
type heldToken struct {
	messages.OutputToken
	end int
}

func (e *entry) become(to place) {
	if placeEdges[e.place]&(1<<to) == 0 {
		invariants.Fail("request %d goes from %s to %s", e.id, e.place, to)
	}
	e.place = to
}

// waitsForCall: no request of its call was admitted yet.
func (e *entry) waitsForCall() bool { return e.waits && !e.call.begun }

// usageNow counts the tokens so far.
func (e *entry) usageNow() messages.Usage {
	return messages.Usage{PromptTokens: len(e.sub.Prompt), CompletionTokens: len(e.output), CachedTokens: e.cached}
}

// releaseTokens makes the tokens ready whose text is final, or all at the end. Their
// offsets stay inside the text that is shown.
func (e *entry) releaseTokens(all bool) {
	n := 0
	for n < len(e.heldTokens) && (all || e.heldTokens[n].end <= e.final) {
		t := e.heldTokens[n].OutputToken
		t.TextOffset = min(t.TextOffset, e.final)
		e.ready = append(e.ready, t)
		n++
	}
	rest := copy(e.heldTokens, e.heldTokens[n:])
	clear(e.heldTokens[rest:])
	e.heldTokens = e.heldTokens[:rest]
}

// forgetReady drops delivered output, and keeps the memory of a short list.
func (e *entry) forgetReady() {
	e.text = textBuffer{}
	if clear(e.ready); cap(e.ready) > 64 {
		e.ready = nil
	}
	e.ready = e.ready[:0]
}
