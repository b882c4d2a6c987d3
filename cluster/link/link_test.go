package link

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

const slotHere, slotThere = messages.EngineID(3), messages.EngineID(9)

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// pair is a link with both ends. Frames wait in a queue for each direction.
type pair struct {
	t          failer
	now        time.Duration
	engine     *Engine  // the gateway's end
	gateway    *Gateway // the engine's end
	down, up   [][]byte // frames on their way
	dispatched []any    // what dispatch has got
	ported     []any    // what the portal has got
	timers     []func()
}

func newPair(t failer, opt Options) *pair {
	p := &pair{t: t}
	opt.Timeout = 2 * time.Second
	opt.Limits = wire.Limits{Vocab: 1000, Context: 200_000, Logprobs: 5}
	here, there := opt, opt
	here.Slot, there.Slot = slotHere, slotThere
	here.Epoch, here.Facts = 5, messages.EngineFacts{Fingerprint: "f"}
	p.engine, p.gateway = NewEngine(here), NewGateway(there)
	return p
}

func frame(t failer, f any) []byte {
	text, err := proto.Marshal(f.(*wire.Frame))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return text
}

func parse(t failer, text []byte) *messages.FrameReceived {
	f := &wire.Frame{}
	if err := proto.Unmarshal(text, f); err != nil {
		t.Fatalf("%v", err)
	}
	return &messages.FrameReceived{Frame: f}
}

// toEngine gives a message to the gateway's end.
func (p *pair) toEngine(m messages.ToLink) {
	var out messages.Outbox
	over := p.engine.Over()
	p.engine.Handle(p.now, m, &out)
	if over && len(out.Sends)+len(out.Timers) > 0 {
		p.t.Fatalf("after its end the gateway's end sends %v", out.Sends)
	}
	for _, s := range out.Sends {
		switch s.To {
		case messages.Peer:
			p.down = append(p.down, frame(p.t, s.Msg))
		case messages.Dispatch:
			p.dispatched = append(p.dispatched, s.Msg)
		default:
			p.t.Fatalf("the gateway's end sends a %T to %s", s.Msg, s.To)
		}
	}
	for range out.Timers {
		p.timers = append(p.timers, func() { p.toEngine(&messages.HeartbeatDue{}) })
	}
}

func (p *pair) toGateway(m messages.ToLink) {
	var out messages.Outbox
	over := p.gateway.Over()
	p.gateway.Handle(p.now, m, &out)
	if over && len(out.Sends)+len(out.Timers) > 0 {
		p.t.Fatalf("after its end the engine's end sends %v", out.Sends)
	}
	for _, s := range out.Sends {
		switch s.To {
		case messages.Peer:
			p.up = append(p.up, frame(p.t, s.Msg))
		case messages.Portal:
			p.ported = append(p.ported, s.Msg)
		default:
			p.t.Fatalf("the engine's end sends a %T to %s", s.Msg, s.To)
		}
	}
	for range out.Timers {
		p.timers = append(p.timers, func() { p.toGateway(&messages.HeartbeatDue{}) })
	}
}

// deliver hands over the first frame of a direction.
func (p *pair) deliver(down bool) bool {
	switch {
	case down && len(p.down) > 0:
		f := p.down[0]
		p.down = p.down[1:]
		p.toGateway(parse(p.t, f))
	case !down && len(p.up) > 0:
		f := p.up[0]
		p.up = p.up[1:]
		p.toEngine(parse(p.t, f))
	default:
		return false
	}
	return true
}

func (p *pair) deliverAll() {
	for p.deliver(true) || p.deliver(false) {
	}
}

// beat lets the time between two heartbeats pass.
func (p *pair) beat() {
	p.now += 250 * time.Millisecond
	timers := p.timers
	p.timers = nil
	for _, f := range timers {
		f()
	}
}

// begin starts both ends and the engine's first epoch.
func (p *pair) begin() {
	p.toEngine(&messages.HeartbeatDue{})
	p.deliverAll()
	p.toGateway(&messages.EpochStarted{Header: messages.Header{Engine: slotThere, Epoch: 1}})
	p.deliverAll()
	p.dispatched, p.ported = nil, nil
}

func (p *pair) here() messages.Header { return p.engine.header }

func (p *pair) there() messages.Header { return p.gateway.header }

func request(id, prompt int) *messages.EngineRequest {
	return &messages.EngineRequest{ID: messages.RequestID(id), Prompt: make([]int32, prompt), Params: &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 100}}
}

// kinds are the types of some messages, without the package.
func kinds(list []any) (names []string) {
	for _, m := range list {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", m), "*messages."))
	}
	return names
}

func TestBothEndsBegin(t *testing.T) {
	p := newPair(t, Options{})
	p.toEngine(&messages.HeartbeatDue{})
	p.deliverAll()
	p.toGateway(&messages.EpochStarted{Header: messages.Header{Engine: slotThere, Epoch: 41}})
	p.deliverAll()
	joined := p.dispatched[0].(*messages.EngineJoined)
	if joined.Engine != slotHere || joined.Facts.Fingerprint != "f" || p.ported[0].(*messages.GatewayJoined).Gateway != slotThere {
		t.Errorf("dispatch gets %+v, the portal %+v", joined, p.ported[0])
	}
	started := p.dispatched[len(p.dispatched)-1].(*messages.EpochStarted)
	if started.Header != (messages.Header{Engine: slotHere, Epoch: 6}) || p.engine.Epoch() != 6 {
		t.Errorf("dispatch hears of %+v", started.Header)
	}
}

// A request goes down, its tokens come up, each under the numbers of its own side.
func TestARequestAndItsTokens(t *testing.T) {
	p := newPair(t, Options{})
	p.begin()
	p.toEngine(&messages.EnqueueRequests{Header: p.here(), Requests: []*messages.EngineRequest{request(1, 3), request(2, 3)}})
	p.toEngine(&messages.FinishRequests{Header: p.here(), IDs: []messages.RequestID{2}})
	p.deliverAll()
	if got := kinds(p.ported); !slices.Equal(got, []string{"EnqueueRequests", "FinishRequests"}) || messages.HeaderOf(p.ported[0]) != p.there() {
		t.Fatalf("the portal gets %v", got)
	}
	p.toGateway(&messages.StepResults{
		Header: p.there(), Seq: 1, Admitted: []messages.RequestID{1},
		Tokens: []messages.TokenResult{{ID: 1, Token: 5}, {ID: 1, Position: 1, Token: 6}}, Ended: []messages.RequestEnded{{ID: 2, Reason: messages.EndCancelled}},
	})
	p.dispatched = nil
	p.deliverAll()
	if got := kinds(p.dispatched); !slices.Equal(got, []string{"StepResults"}) {
		t.Fatalf("dispatch gets %v", got)
	}
	r := p.dispatched[0].(*messages.StepResults)
	if r.Header != p.here() || len(r.Tokens) != 2 || len(r.Ended) != 1 {
		t.Errorf("dispatch gets %+v", r)
	}
	p.toEngine(&messages.EnqueueRequests{Header: messages.Header{Engine: slotHere, Epoch: 5}, Requests: []*messages.EngineRequest{request(3, 1)}})
	p.ported = nil
	p.deliverAll()
	if len(p.ported) > 0 {
		t.Errorf("requests for an earlier epoch reach the portal: %v", kinds(p.ported))
	}
}

// A long prompt travels in pieces within the window; results do not wait for it.
func TestALongPromptHoldsNobodyUp(t *testing.T) {
	p := newPair(t, Options{Window: 128 << 10})
	p.begin()
	long := request(1, 150_000)
	for i := range long.Prompt {
		long.Prompt[i] = 999 // two bytes each
	}
	p.toEngine(&messages.EnqueueRequests{Header: p.here(), Requests: []*messages.EngineRequest{long}})
	if n := len(p.down); n != 2 {
		t.Errorf("%d frames are on their way; the window has room for 2 pieces", n)
	}
	p.toEngine(&messages.FlushCache{Header: p.here(), Ticket: 4})
	if n := len(p.down); n != 3 {
		t.Errorf("a question waits for a prompt: %d frames", n)
	}
	p.deliverAll()
	if got := kinds(p.ported); !slices.Equal(got, []string{"FlushCache", "EnqueueRequests"}) || len(p.ported[1].(*messages.EnqueueRequests).Requests[0].Prompt) != 150_000 {
		t.Errorf("the portal gets %v", got)
	}
}

// What ends a link, at both ends, and what each side hears.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end        func(p *pair)
		cause      string
		noSuspects bool
	}{
		"the engine says goodbye":  {func(p *pair) { p.toGateway(&messages.EndLink{Cause: "draining"}) }, "draining", true},
		"the gateway says goodbye": {func(p *pair) { p.toEngine(&messages.EndLink{Cause: "leaving"}) }, "leaving", true},
		"dispatch starts over":     {func(p *pair) { p.toEngine(&messages.FailEpoch{Cause: "a gap"}) }, "a gap", true},
		"the connection is lost":   {func(p *pair) { p.toEngine(&messages.LinkBroken{Cause: "reset"}) }, "reset", false},
		"silence": {func(p *pair) {
			for range 9 {
				p.beat()
				p.up, p.down = nil, nil
			}
		}, "nothing was heard from the peer for 2.25s", true},
		"a lost frame": {func(p *pair) { p.beat(); p.up = p.up[1:]; p.beat() }, "came after frame", false},
		"a token out of turn": {func(p *pair) {
			p.toGateway(&messages.StepResults{Header: p.there(), Seq: 1, Tokens: []messages.TokenResult{{ID: 1, Position: 2}}})
		}, "position 2 instead of 0", false},
		"a token of nobody": {func(p *pair) {
			p.toGateway(&messages.StepResults{Header: p.there(), Seq: 1, Tokens: []messages.TokenResult{{ID: 7}}})
		}, "request 7", false},
		"a token outside the vocabulary": {func(p *pair) {
			p.toGateway(&messages.StepResults{Header: p.there(), Seq: 1, Tokens: []messages.TokenResult{{ID: 1, Token: 1000}}})
		}, "token 1000 is outside", false},
		"results with a gap": {func(p *pair) { p.toGateway(&messages.StepResults{Header: p.there(), Seq: 2}) }, "results 2 came after", false},
		"an end of nobody": {func(p *pair) {
			p.toGateway(&messages.StepResults{Header: p.there(), Seq: 1, Ended: []messages.RequestEnded{{ID: 7, Reason: messages.EndEOS}}})
		}, "request 7 ended (eos)", false},
		"an end of nobody, as if again": {func(p *pair) {
			p.toGateway(&messages.StepResults{Header: p.there(), Seq: 1, Ended: []messages.RequestEnded{{ID: 7, Reason: messages.EndCancelled}}})
		}, "request 7 ended (cancelled)", false},
		"a release that nobody asked for": {func(p *pair) {
			p.toGateway(&messages.StepResults{Header: p.there(), Seq: 1, Ended: []messages.RequestEnded{{ID: 1, Reason: messages.EndCancelled}}})
		}, "request 1 was released, but", false},
		"a release of an earlier sending": {func(p *pair) {
			p.toEngine(&messages.FinishRequests{Header: p.here(), IDs: []messages.RequestID{1}})
			p.toGateway(&messages.EpochEnded{Header: p.there(), Seq: 1, Requests: []messages.RequestID{1}})
			p.deliverAll()
			p.toEngine(&messages.EnqueueRequests{Header: p.here(), Requests: []*messages.EngineRequest{request(1, 3)}})
			p.toGateway(&messages.StepResults{Header: p.there(), Seq: 2, Ended: []messages.RequestEnded{{ID: 1, Reason: messages.EndCancelled}}})
		}, "request 1 was released, but", false},
		"an epoch in an epoch": {func(p *pair) {
			p.toGateway(&messages.EpochStarted{Header: messages.Header{Engine: slotThere, Epoch: 2}})
		}, "epoch 2 starts after epoch 1", false},
		"log probabilities that have not come": {func(p *pair) {
			p.up = append(p.up, frame(p.t, &wire.Frame{Seq: p.gateway.sent + 1, Body: &wire.Frame_Results{Results: &wire.Results{Epoch: 1, Seq: 1, Prompts: []*wire.Prompt{{Id: 1, Apart: true}}}}}))
		}, "have not come before its results", false},
		"log probabilities with a gap": {func(p *pair) {
			first := &wire.PromptLogprobs{Epoch: 1, Id: 1, Logprobs: []*wire.Position{{Tokens: []int32{1}, Logprobs: []float32{-1}}}}
			p.up = append(p.up, frame(p.t, piece(p, &wire.Bulk{Body: &wire.Bulk_PromptLogprobs{PromptLogprobs: first}})))
			p.gateway.sent++
			p.up = append(p.up, frame(p.t, piece(p, &wire.Bulk{Body: &wire.Bulk_PromptLogprobs{PromptLogprobs: &wire.PromptLogprobs{Epoch: 1, Id: 1, From: 7}}})))
		}, "begin at 7, after 1", false},
		"a frame of the other end": {func(p *pair) {
			p.up = append(p.up, frame(p.t, &wire.Frame{Seq: p.gateway.sent + 1, Body: &wire.Frame_FlushCache{FlushCache: &wire.Ask{}}}))
		}, "an engine sent a frame", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, Options{})
			p.begin()
			p.toEngine(&messages.EnqueueRequests{Header: p.here(), Requests: []*messages.EngineRequest{request(1, 3)}})
			p.deliverAll()
			c.end(p)
			p.deliverAll()
			left, ok := p.dispatched[len(p.dispatched)-1].(*messages.EngineLeft)
			if !ok || left.Engine != slotHere || left.NoSuspects != c.noSuspects || !strings.Contains(left.Cause, c.cause) {
				t.Fatalf("dispatch hears %+v at last", p.dispatched[len(p.dispatched)-1])
			}
			for range 10 { // the other end hears nothing any more
				p.beat()
			}
			p.deliverAll()
			if m, ok := p.ported[len(p.ported)-1].(*messages.GatewayLeft); !ok || m.Gateway != slotThere || !p.gateway.Over() {
				t.Errorf("the portal hears %+v at last", p.ported[len(p.ported)-1])
			}
		})
	}
}

// Requests that are wrong end the link at the engine, with a goodbye that says why.
func TestTheEngineRefusesWrongRequests(t *testing.T) {
	p := newPair(t, Options{})
	p.begin()
	for range 2 {
		p.toEngine(&messages.EnqueueRequests{Header: p.here(), Requests: []*messages.EngineRequest{request(1, 3)}})
	}
	p.deliverAll()
	if left := p.dispatched[len(p.dispatched)-1].(*messages.EngineLeft); !strings.Contains(left.Cause, "request 1 was sent twice") || !p.gateway.Over() {
		t.Errorf("dispatch hears %+v", left)
	}
}

// A peer that does not read ends its link before memory runs out.
func TestAPeerThatDoesNotKeepUp(t *testing.T) {
	p := newPair(t, Options{Backlog: 1 << 20, Window: 256 << 10})
	p.begin()
	for seq := uint64(1); !p.gateway.Over(); seq++ {
		if seq > 1000 {
			t.Fatal("the backlog grows without end")
		}
		m := &messages.StepResults{Header: p.there(), Seq: seq}
		for id := range messages.RequestID(1000) {
			m.Tokens = append(m.Tokens, messages.TokenResult{ID: id * 1_000_003, Position: int(seq) << 16, Token: 999})
		}
		p.toGateway(m)
	}
	if p.gateway.pending > 1<<20+16_000 {
		t.Errorf("%d bytes wait", p.gateway.pending)
	}
}

// Heartbeats carry the engine's report, and keep an idle link alive.
func TestAnIdleLinkLives(t *testing.T) {
	p := newPair(t, Options{})
	p.begin()
	p.toGateway(&messages.EngineReported{Speed: 1234, Gateways: 3, Others: messages.EngineLoad{WaitingTokens: 7, Running: 2}})
	for range 400 { // 100 s
		p.beat()
		p.deliverAll()
	}
	if p.engine.Over() || p.gateway.Over() {
		t.Fatal("the link ended")
	}
	last := p.dispatched[len(p.dispatched)-1].(*messages.EngineReported)
	if last.Engine != slotHere || last.Speed != 1234 || last.Gateways != 3 || last.Others.WaitingTokens != 7 || last.Others.Running != 2 {
		t.Errorf("dispatch gets %+v", last)
	}
	if n := len(p.engine.unread) + len(p.gateway.unread); n > 4 {
		t.Errorf("%d frames are not acknowledged", n)
	}
}

// Each end sends a heartbeat every 250 ms, whatever it begins with.
func TestHeartbeatsPerSecond(t *testing.T) {
	beats := func(frames [][]byte) (n int) {
		for _, f := range frames {
			if parse(t, f).Frame.(*wire.Frame).GetHeartbeat() != nil {
				n++
			}
		}
		return n
	}
	for name, begin := range map[string]func(p *pair){
		"a timer": func(p *pair) {
			p.toEngine(&messages.HeartbeatDue{})
			p.toGateway(&messages.HeartbeatDue{})
		},
		"an epoch":  func(p *pair) { p.begin() },
		"a message": func(p *pair) { p.toEngine(&messages.FlushCache{}); p.deliverAll() },
	} {
		p := newPair(t, Options{})
		begin(p)
		p.deliverAll()
		down, up := 0, 0
		for range 4 {
			p.beat()
			down, up = down+beats(p.down), up+beats(p.up)
			p.deliverAll()
		}
		if down != 4 || up != 4 {
			t.Errorf("begun by %s, a second has %d heartbeats of the gateway and %d of the engine, want 4", name, down, up)
		}
	}
}

// Whatever is sent arrives once and in order, up to the end of the link; and when one end
// is over, so is the other, soon.
func TestWhatIsSentArrivesInOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := newPair(r, Options{Window: 64 << 10})
		p.begin()
		var down, up []string // what was sent
		arrived := func(list []any) (names []string) {
			for _, m := range list {
				switch m := m.(type) {
				case *messages.EnqueueRequests:
					names = append(names, fmt.Sprint("enqueue ", m.Requests[0].ID, " ", len(m.Requests[0].Prompt)))
				case *messages.FinishRequests:
					names = append(names, fmt.Sprint("finish ", m.IDs))
				case *messages.StepResults:
					names = append(names, fmt.Sprint("results ", m.Seq))
				}
			}
			return names
		}
		next, seq := 0, uint64(0)
		r.Repeat(map[string]func(*rapid.T){
			"enqueue": func(r *rapid.T) {
				next++
				n := rapid.SampledFrom([]int{1, 100, 90_000}).Draw(r, "prompt")
				if !p.engine.Over() {
					down = append(down, fmt.Sprint("enqueue ", next, " ", n))
				}
				p.toEngine(&messages.EnqueueRequests{Header: p.here(), Requests: []*messages.EngineRequest{request(next, n)}})
			},
			"finish": func(r *rapid.T) {
				id := messages.RequestID(rapid.IntRange(1, next+1).Draw(r, "id"))
				if !p.engine.Over() {
					down = append(down, fmt.Sprint("finish ", []messages.RequestID{id}))
				}
				p.toEngine(&messages.FinishRequests{Header: p.here(), IDs: []messages.RequestID{id}})
			},
			"results": func(r *rapid.T) {
				if seq++; !p.gateway.Over() {
					up = append(up, fmt.Sprint("results ", seq))
				}
				p.toGateway(&messages.StepResults{Header: p.there(), Seq: seq})
			},
			"down": func(*rapid.T) { p.deliver(true) },
			"up":   func(*rapid.T) { p.deliver(false) },
			"time": func(*rapid.T) { p.beat() },
			"cut": func(r *rapid.T) {
				if rapid.IntRange(0, 9).Draw(r, "rarely") == 0 {
					p.down, p.up = nil, nil
					p.toEngine(&messages.LinkBroken{Cause: "cut"})
				}
			},
			"lose": func(r *rapid.T) {
				if len(p.up) > 0 && rapid.IntRange(0, 9).Draw(r, "rarely") == 0 {
					p.up = p.up[1:]
				}
			},
			"": func(r *rapid.T) {
				if got := arrived(p.ported); len(got) > len(down) || !slices.Equal(got, down[:len(got)]) {
					r.Fatalf("the portal got %v, sent was %v", got, down)
				}
				if got := arrived(p.dispatched); len(got) > len(up) || !slices.Equal(got, up[:len(got)]) {
					r.Fatalf("dispatch got %v, sent was %v", got, up)
				}
			},
		})
		over := p.engine.Over() || p.gateway.Over()
		for range 12 {
			p.deliverAll()
			p.beat()
		}
		if over && !(p.engine.Over() && p.gateway.Over()) {
			r.Fatalf("one end is over: %t, %t", p.engine.Over(), p.gateway.Over())
		}
		if !p.engine.Over() && (len(arrived(p.ported)) != len(down) || len(arrived(p.dispatched)) != len(up)) {
			r.Fatalf("the link lives, but %v of %v and %v of %v arrived", arrived(p.ported), down, arrived(p.dispatched), up)
		}
	})
}

// The portal handles the end of a slot's last link late: what it sends to that one reaches the
// next one, whose peer may not be there yet.
func TestMessagesForTheLastLinkDoNotBeginTheNext(t *testing.T) {
	p := newPair(t, Options{})
	p.toGateway(&messages.StepResults{Header: messages.Header{Engine: slotThere, Epoch: 7}, Seq: 9})
	p.toGateway(&messages.EpochStarted{Header: messages.Header{Engine: slotThere, Epoch: 8}})
	if len(p.ported)+len(p.up) > 0 {
		t.Errorf("the portal gets %v, the peer %d frames", kinds(p.ported), len(p.up))
	}
	p.toEngine(&messages.HeartbeatDue{})
	p.deliverAll()
	p.toGateway(&messages.EpochStarted{Header: messages.Header{Engine: slotThere, Epoch: 9}})
	p.deliverAll()
	if p.engine.Over() || !p.engine.Up() {
		t.Errorf("the link is over: %s", p.engine.Cause())
	}
}
