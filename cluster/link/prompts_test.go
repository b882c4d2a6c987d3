package link

import (
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

// piece is a frame with a whole Bulk, as the engine's end would send it next.
func piece(p *pair, b *wire.Bulk) *wire.Frame {
	data, err := proto.Marshal(b)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	return &wire.Frame{Seq: p.gateway.sent + 1, Body: &wire.Frame_Piece{Piece: &wire.Piece{Data: data, Last: true}}}
}

func scored(positions int) (list []messages.PositionLogprobs) {
	for i := range positions {
		one := messages.PositionLogprobs{Chosen: messages.TokenLogprob{Token: int32(i % 1000), Logprob: -1}}
		for k := range 5 {
			one.Top = append(one.Top, messages.TokenLogprob{Token: int32(900 + k), Logprob: -2})
		}
		list = append(list, one)
	}
	return list
}

func token(id, position int) messages.TokenResult {
	return messages.TokenResult{ID: messages.RequestID(id), Position: position, Token: 5}
}

// results are what dispatch has got, in order. Their numbers must have no gap.
func (p *pair) results() (list []*messages.StepResults) {
	for _, m := range p.dispatched {
		if r, ok := m.(*messages.StepResults); ok {
			if list = append(list, r); r.Seq != uint64(len(list)) {
				p.t.Fatalf("results %d come at place %d", r.Seq, len(list))
			}
		}
	}
	return list
}

// settle lets everything arrive that waits for the window.
func (p *pair) settle() {
	for range 4 {
		p.deliverAll()
		p.beat()
	}
	p.deliverAll()
}

// twoRequests begins a link whose engine has the requests 1 and 2. A step computes the long
// prompt of the first and a token of both.
func twoRequests(t failer) (p *pair, prompt []messages.PositionLogprobs) {
	p = newPair(t, Options{Window: 128 << 10})
	p.begin()
	p.toEngine(&messages.EnqueueRequests{Header: p.here(), Requests: []*messages.EngineRequest{request(1, 30_001), request(2, 3)}})
	p.settle()
	p.dispatched = nil
	prompt = scored(30_000)
	p.toGateway(&messages.StepResults{
		Header: p.there(), Seq: 1, Step: 8, Admitted: []messages.RequestID{1, 2}, Prompts: []messages.PromptResult{{ID: 1, Logprobs: prompt, CachedTokens: 1}, {ID: 2, Logprobs: prompt[:2]}},
		Tokens: []messages.TokenResult{token(1, 0), token(2, 0)},
	})
	return p, prompt
}

// The log probabilities of a long prompt go in pieces within the window. The results of the
// request come after them, whole; those of others do not wait.
func TestLogprobsOfALongPromptHoldNobodyUp(t *testing.T) {
	p, prompt := twoRequests(t)
	p.toGateway(&messages.StepResults{Header: p.there(), Seq: 2, Step: 9, Tokens: []messages.TokenResult{token(1, 1), token(2, 1)},
		Ended: []messages.RequestEnded{{ID: 1, Reason: messages.EndLength}, {ID: 2, Reason: messages.EndLength}}})
	size := 0
	for _, f := range p.up {
		size += len(f)
	}
	if size > 256<<10 {
		t.Errorf("%d bytes are on their way; the window has 128 KiB", size)
	}
	p.settle()
	got := p.results()
	if len(got) != 3 || p.engine.Over() {
		t.Fatalf("dispatch gets %d results (%s)", len(got), p.engine.Cause())
	}
	first, second, last := got[0], got[1], got[2]
	if !slices.Equal(first.Tokens, []messages.TokenResult{token(2, 0)}) || len(first.Prompts) != 1 || first.Prompts[0].ID != 2 || len(first.Admitted) != 2 ||
		!slices.Equal(second.Tokens, []messages.TokenResult{token(2, 1)}) || len(second.Ended) != 1 {
		t.Errorf("of the other request there is %+v, then %+v", first, second)
	}
	if !slices.Equal(last.Tokens, []messages.TokenResult{token(1, 0), token(1, 1)}) || len(last.Ended) != 1 || last.Prompts[0].CachedTokens != 1 || !reflect.DeepEqual(last.Prompts[0].Logprobs, prompt) {
		t.Errorf("of the request there are %d log probabilities, tokens %v, ends %v", len(last.Prompts[0].Logprobs), last.Tokens, last.Ended)
	}
	if len(p.engine.scores) > 0 {
		t.Error("the log probabilities are kept")
	}
}

// A request is lost with a part of the engine while its pieces are on their way, and is
// submitted again on the same link.
func TestAPartIsLostBeforeItsPieces(t *testing.T) {
	p, prompt := twoRequests(t)
	p.toGateway(&messages.EpochEnded{Header: p.there(), Seq: 2, Cause: "smoke", Requests: []messages.RequestID{1}})
	p.deliver(false) // the first piece comes before the end
	p.toGateway(&messages.StepResults{Header: p.there(), Seq: 3, Tokens: []messages.TokenResult{token(2, 1)}})
	p.settle()
	p.toEngine(&messages.EnqueueRequests{Header: p.here(), Requests: []*messages.EngineRequest{request(1, 30_001)}})
	p.settle()
	p.toGateway(&messages.StepResults{Header: p.there(), Seq: 4, Prompts: []messages.PromptResult{{ID: 1, Logprobs: prompt[:9000]}}, Tokens: []messages.TokenResult{token(1, 0)}})
	p.settle()
	var last *messages.StepResults
	for _, m := range p.dispatched {
		if r, ok := m.(*messages.StepResults); ok {
			last = r
		}
	}
	if p.engine.Over() || last.Seq != 5 || len(last.Prompts) != 1 || len(last.Prompts[0].Logprobs) != 9000 || len(last.Tokens) != 1 {
		t.Errorf("dispatch gets %v at last (%s)", kinds(p.dispatched), p.engine.Cause())
	}
	p.toGateway(&messages.EpochEnded{Header: p.there(), Seq: 5, Cause: "smoke", Requests: []messages.RequestID{2}})
	p.dispatched = nil
	p.deliverAll()
	if ended, ok := p.dispatched[0].(*messages.EpochEnded); !ok || ended.Seq != 6 {
		t.Errorf("after results 5, dispatch gets %+v (%s)", p.dispatched[0], p.engine.Cause())
	}
}

// The end of an epoch overtakes pieces of it; the link goes on with the next epoch.
func TestAnEpochEndsBeforeItsPieces(t *testing.T) {
	p, _ := twoRequests(t)
	old := p.there()
	p.toGateway(&messages.CacheChanged{Header: old, Seq: 1, Events: []messages.CacheEvent{{Kind: messages.PagesStored, Hashes: make([]uint64, 4096)}}})
	p.toGateway(&messages.EpochEnded{Header: old, Cause: "smoke"})
	p.toGateway(&messages.EpochStarted{Header: messages.Header{Engine: slotThere, Epoch: old.Epoch + 1}})
	p.settle()
	if p.engine.Over() || !p.engine.Up() || len(p.engine.scores) > 0 || len(p.gateway.results.late) > 0 {
		t.Errorf("the link is over: %q, the engine is up: %t", p.engine.Cause(), p.engine.Up())
	}
}

// A step of many rows with log probabilities takes several frames.
func TestFramesAreSmall(t *testing.T) {
	p := newPair(t, Options{})
	p.begin()
	m, all := &messages.StepResults{Header: p.there(), Seq: 1}, scored(1)[0]
	enqueue := &messages.EnqueueRequests{Header: p.here()}
	for id := range 20_000 {
		enqueue.Requests = append(enqueue.Requests, request(id+1, 3))
		one := token(id+1, 0)
		one.Logprobs = &all
		m.Tokens = append(m.Tokens, one)
	}
	m.Ended = []messages.RequestEnded{{ID: 3, Reason: messages.EndLength}}
	p.toEngine(enqueue)
	p.settle()
	p.dispatched = nil
	p.toGateway(m)
	for _, f := range p.up {
		if len(f) > 384<<10 {
			t.Errorf("a frame has %d bytes", len(f))
		}
	}
	p.settle()
	tokens, ended := 0, 0
	for _, r := range p.results() {
		tokens, ended = tokens+len(r.Tokens), ended+len(r.Ended)
	}
	if tokens != len(m.Tokens) || ended != 1 {
		t.Errorf("%d tokens and %d ends arrive (%s)", tokens, ended, p.engine.Cause())
	}
	next := &messages.StepResults{Header: p.there(), Seq: 2, Tokens: []messages.TokenResult{token(1, 1)}}
	p.toGateway(next)
	p.settle()
	p.results()
}

// All requests of a gateway may come at once, more than one message or the backlog holds.
func TestManyRequestsTakeSeveralMessages(t *testing.T) {
	p := newPair(t, Options{Backlog: 1 << 20})
	p.begin()
	long := make([]int32, 150_000)
	for i := range long {
		long[i] = 999 // two bytes each
	}
	m := &messages.EnqueueRequests{Header: p.here()}
	for id := range 70 {
		r := request(id+1, 1)
		r.Prompt = long
		m.Requests = append(m.Requests, r)
	}
	p.toEngine(m)
	p.toEngine(&messages.FinishRequests{Header: p.here(), IDs: []messages.RequestID{70}})
	p.settle()
	var got []messages.RequestID
	for _, m := range p.ported {
		if m, ok := m.(*messages.EnqueueRequests); ok {
			if len(m.Requests) > 60 {
				t.Errorf("%d requests in one message", len(m.Requests))
			}
			for _, r := range m.Requests {
				got = append(got, r.ID)
			}
		}
	}
	if len(got) != 70 || !slices.IsSorted(got) || p.gateway.Over() {
		t.Errorf("the portal gets %v (%s)", got, p.gateway.Cause())
	}
}

// One of several engines behind a portal loses a request while pieces of its log
// probabilities wait. The request is submitted again at once; what is left of the old ones
// does not end the link.
func TestLogprobsOfALostRequestAreDropped(t *testing.T) {
	p, _ := twoRequests(t)
	for len(p.engine.scores[1]) == 0 { // the first part has come
		if !p.deliver(false) && !p.deliver(true) {
			p.beat()
		}
	}
	p.toGateway(&messages.EpochEnded{Header: p.there(), Seq: 2, Cause: "one engine failed", Requests: []messages.RequestID{1}})
	for quiet := 0; quiet < 20 && !p.engine.Over(); {
		before := len(p.dispatched)
		if !p.deliver(false) && !p.deliver(true) {
			quiet++
			p.beat()
			continue
		}
		for _, m := range p.dispatched[before:] {
			if _, ok := m.(*messages.EpochEnded); ok {
				p.toEngine(&messages.EnqueueRequests{Header: p.here(), Requests: []*messages.EngineRequest{request(1, 30_001)}})
			}
		}
	}
	if p.engine.Over() {
		t.Fatalf("the link is over: %s", p.engine.Cause())
	}
	if waiting := p.gateway.pieces.bytes; waiting > 0 || len(p.engine.scores) > 0 {
		t.Errorf("%d bytes wait, and parts of %d requests are kept", waiting, len(p.engine.scores))
	}
}
