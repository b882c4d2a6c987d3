package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/cluster/transport"
	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/dispatch"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

const (
	vocab    = 500
	window   = 512
	poolSize = 400
	pageSize = 4
)

var texts = []byte("the texts of the model")

func facts() *wire.Model {
	sum := sha256.Sum256(texts)
	return &wire.Model{Name: "fake", Weights: "w", Texts: hex.EncodeToString(sum[:]), Fingerprint: "f", Context: window, Vocab: vocab,
		PoolTokens: poolSize * pageSize, PageSize: pageSize, Running: 16}
}

type words struct{}

func (words) NewStream([]int32, bool, bool) request.Stream { return words{} }
func (words) Push(id int32) string                         { return fmt.Sprintf("%d ", id) }
func (words) Flush() string                                { return "" }
func (words) Clone() request.Stream                        { return words{} }

type nowhere struct{}

func (nowhere) Record(messages.Metric, float64) {}

var limits = wire.Limits{Vocab: vocab, Context: window, Logprobs: 5}

// node is a process of a cluster, in this one.
type node struct {
	*Cluster
	t      testing.TB
	system *actor.ActorSystem
	engine *engine.Engine // with a portal
	front  *engine.Engine // intake and dispatch of the fake model
	opened chan struct{}  // closed when the front is there
}

var incarnations atomic.Uint64

func spec() engine.Spec {
	fake := fakemodel.Options{PageSize: pageSize, Pages: poolSize, MaxRows: 16, Vocab: vocab, EOSChance: 0.02, CheckReads: true, Async: true}
	table := request.NewTable(request.TableOptions{ContextLength: window, PoolTokens: poolSize * pageSize, Vocab: vocab, MaxOpenRequests: 1000, MaxLogprobs: 5})
	return engine.Spec{
		Batch: former.Options{PageSize: pageSize, Pages: poolSize, MaxRunning: 16, ChunkedPrefillSize: 64, ContextLength: window, AuditEveryStep: true},
		Cache: radix.Options{PageSize: pageSize, Events: true}, Alloc: pages.Options{Pages: poolSize},
		Intake:  intake.Options{Table: table, Detokenizer: words{}},
		Members: []engine.Member{{Executor: fakemodel.New(fake)}}, Meter: nowhere{}, Log: zerolog.Nop(),
		Backoff: engine.Backoff{Base: time.Microsecond, Cap: time.Microsecond}, OnFatal: func(error) {},
	}
}

func start(t testing.TB, name string, isGateway bool) *node {
	t.Helper()
	return startWith(t, name, isGateway, func(*Options) {})
}

func startWith(t testing.TB, name string, isGateway bool, change func(*Options)) *node {
	t.Helper()
	n := &node{t: t, system: actor.NewActorSystem(actor.WithLoggerFactory(quiet)), opened: make(chan struct{})}
	incarnation := fmt.Sprintf("%s-%d", name, incarnations.Add(1))
	opt := Options{
		Self:      &wire.Hello{Protocol: 1, Cluster: "test", Node: name, Incarnation: incarnation, Gateway: isGateway, State: report.Ready},
		Transport: transport.Options{Listen: "127.0.0.1:0", Incarnation: incarnation, Log: zerolog.Nop()},
		Meter:     nowhere{}, Log: zerolog.New(zerolog.NewTestWriter(t)).With().Str("at", name).Logger(),
	}
	if isGateway {
		opt.Gateway = n
	}
	change(&opt)
	var err error
	if n.Cluster, err = Start(n.system, opt); err != nil {
		t.Fatal(err)
	}
	if !isGateway {
		s := spec()
		s.Portal, s.Peers = true, n.GatewayLink
		s.OnRestart = func() { n.Restart(nil) }
		if n.engine, err = engine.Start(n.system, s); err != nil {
			t.Fatal(err)
		}
		n.Serve(&Engine{Portal: n.engine.Portal(), Model: facts(), Texts: texts, Limits: limits})
	}
	t.Cleanup(n.stop)
	return n
}

// OpenModel implements Gateway.
func (n *node) OpenModel(_ context.Context, m *wire.Model, got []byte) (*GatewayModel, error) {
	if string(got) != string(texts) {
		return nil, fmt.Errorf("the texts are %q", got)
	}
	s := spec()
	s.Name, s.Members, s.Peers = "gateway", nil, n.EngineLink
	s.Dispatch = dispatch.Options{}
	s.OnRestart = func() { n.Restart(n.front.Dispatch()) }
	var err error
	if n.front, err = engine.Start(n.system, s); err != nil {
		return nil, err
	}
	close(n.opened)
	return &GatewayModel{Dispatch: n.front.Dispatch(), Limits: limits}, nil
}

// CloseModel and Busy implement Gateway.
func (n *node) CloseModel(context.Context, string) {}
func (n *node) Busy(string) bool                   { return false }

func (n *node) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		n.t.Error(err)
	}
	for _, e := range []*engine.Engine{n.front, n.engine} {
		if e != nil {
			if err := e.Stop(ctx); err != nil {
				n.t.Error(err)
			}
		}
	}
}

// submit sends a call with one request.
func submit(e *engine.Engine, call int, seed uint64) chan messages.CallEvent {
	events := make(chan messages.CallEvent, 64)
	prompt := make([]int32, 5+call%40)
	for i := range prompt {
		prompt[i] = int32(2 + (i*7+call%3)%400)
	}
	params := &messages.SamplingParams{Temperature: 1, TopP: 1, RepetitionPenalty: 1, MaxTokens: 60, Seed: seed, EOSTokenIDs: []int32{1},
		TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
	e.Send(&messages.SubmitRequests{Call: messages.CallID(call + 1), UserID: fmt.Sprint(call), Events: events,
		Requests: []messages.Submission{{Prompt: prompt, Params: params, Stream: true, After: -1}}})
	return events
}

func read(t testing.TB, e *engine.Engine, call int, events chan messages.CallEvent) string {
	var text strings.Builder
	for {
		switch m := (<-events).(type) {
		case *messages.CallRefused:
			t.Errorf("call %d was refused: %s", call, m.Message)
			return ""
		case *messages.CallOutput:
			text.WriteString(m.Text)
			if m.Finish != nil {
				if m.Finish.Message != "" {
					t.Errorf("call %d: %s", call, m.Finish.Message)
				}
				return text.String()
			}
			if m.Paused {
				e.Send(&messages.ResumeOutput{Call: messages.CallID(call + 1)})
			}
		}
	}
}

func answers(t testing.TB, e *engine.Engine, n int, midway func()) (list []string) {
	var events []chan messages.CallEvent
	for i := range n {
		events = append(events, submit(e, i, uint64(i)))
	}
	for i := range n {
		if i == n/4 && midway != nil {
			midway()
		}
		list = append(list, read(t, e, i, events[i]))
	}
	return list
}

func TestAnswersOfAClusterAreThoseOfOneProcess(t *testing.T) {
	several(t)
	alone, err := engine.Start(actor.NewActorSystem(actor.WithLoggerFactory(quiet)), spec())
	if err != nil {
		t.Fatal(err)
	}
	want := answers(t, alone, 60, nil)
	gateway, first, second := start(t, "gateway", true), start(t, "first", false), start(t, "second", false)
	gateway.Propose([]string{first.Address(), second.Address()})
	<-gateway.opened
	got := answers(t, gateway.front, 60, func() { first.transport.Stop() })
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("call %d:\n got  %s\n want %s", i, got[i], want[i])
		}
	}
}
