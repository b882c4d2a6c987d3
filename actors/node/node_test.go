package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/testkit/locked"
)

// process is what a node answers for.
type process struct {
	report.Node // with mu, once it is open
	mu          sync.Mutex
	roster      *roster.Roster
	acting      chan string   // the paths of actions, if not nil
	held        chan struct{} // what actions wait for, if not nil
	err         error
	aborts      chan report.Abort // what the process was asked to end, if not nil
}

func (p *process) Abort(a report.Abort) {
	if p.aborts != nil {
		p.aborts <- a
	}
}

func (p *process) Report() report.Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Node
}

// change changes the report of a process that is open.
func (p *process) change(f func(*report.Node)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.Node)
}

func (p *process) Act(_ context.Context, a *report.Action, path string) (string, error) {
	if p.acting != nil {
		p.acting <- path
		<-p.held
	}
	return a.Action + " done", p.err
}

// Nudge lets an actor look whether it must crash, as its shell does.
func (p *process) Nudge(path string) {
	defer func() {
		if r := recover(); r != nil {
			p.roster.Entry(path, "").Failed(fmt.Sprint(r), true)
		}
	}()
	p.roster.Entry(path, "").Trip()
}

// world are nodes that reach each other.
type world struct {
	mu    sync.Mutex
	nodes map[string]*Node // by address, which is the name
	lost  map[string]bool
	calls map[string]int
}

// peers are those of one node.
type peers struct {
	*world
	self string
}

func (p peers) Peers(context.Context) (list []Peer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, n := range p.nodes {
		if at != p.self {
			list = append(list, Peer{Address: at, Lost: p.lost[at], Node: report.Node{Name: at, Incarnation: at, State: report.Ready, Model: n.opt.Process.Report().Model}})
		}
	}
	return list, nil
}

var errGone = errors.New("connection refused")

func (p peers) Ask(ctx context.Context, address, kind string, question []byte, each func([]byte) error) error {
	p.mu.Lock()
	n, lost := p.nodes[address], p.lost[address]
	p.calls[address]++
	p.mu.Unlock()
	if lost {
		return errGone
	}
	return n.Answer(ctx, kind, question, each)
}

func open(t *testing.T, w *world, p *process, change func(*Options)) *Node {
	t.Helper()
	if p.roster == nil {
		p.roster = roster.New(nil)
	}
	p.Incarnation = p.Name // as the world says of it
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	opt := Options{Process: p, Roster: p.roster, Log: zerolog.Nop(), Answer: 5 * time.Second}
	if change != nil {
		change(&opt)
	}
	n, err := Start(system, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if w != nil {
		w.mu.Lock()
		w.nodes[p.Name] = n
		w.mu.Unlock()
		n.Join(peers{w, p.Name})
	}
	return n
}

func newWorld() *world {
	return &world{nodes: map[string]*Node{}, lost: map[string]bool{}, calls: map[string]int{}}
}

// find reads events until one has all words.
func find(t *testing.T, n *Node, words ...string) report.Event {
	t.Helper()
	for after := uint64(0); ; {
		events, err := n.Events(t.Context(), after)
		if err != nil {
			t.Fatalf("no event has %q: %v", words, err)
		}
		for _, e := range events {
			after = e.Number
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(fmt.Sprintf("%+v", e), w) }) {
				return e
			}
		}
	}
}

func wantError(t *testing.T, err error, kind string, words ...string) {
	t.Helper()
	var e *report.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("%v; want an error of kind %s", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(e.Text, w) {
			t.Errorf("the error %q lacks %q", e.Text, w)
		}
	}
}

func action(what, target string) *report.Action {
	return &report.Action{Action: what, Target: target, Reason: "a test", Operator: "Ada"}
}

// A reader waits for events, and one that has missed some is told.
func TestEventsAreNumberedWithoutGaps(t *testing.T) {
	n := open(t, nil, &process{Node: report.Node{Name: "a"}}, nil)
	last, err := n.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []report.Event, 1)
	go func() {
		events, _ := n.Events(t.Context(), last)
		got <- events
	}()
	n.Record(report.Event{Kind: report.EventState, Text: "one"})
	if events := <-got; len(events) != 1 || events[0].Number != last+1 || events[0].Node != "a" || events[0].At.IsZero() || events[0].Text != "one" {
		t.Errorf("%+v", events)
	}
	for i := range keep + 5 {
		n.Record(report.Event{Kind: report.EventState, Text: fmt.Sprint(i)})
		if i%500 == 499 {
			find(t, n, fmt.Sprintf("Text:%d ", i)) // else some are dropped
		}
	}
	find(t, n, fmt.Sprintf("Text:%d ", keep+4))
	if events, _ := n.Events(t.Context(), last+1); events[0].Kind != report.EventGap || events[0].Number != last+6 || events[1].Number != last+7 || len(events) != mostEvents {
		t.Errorf("a slow reader gets %d events, the first ones %+v", len(events), events[:2])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if events, err := n.Events(ctx, last+keep+100); err == nil && len(events) == 0 {
		t.Error("a reader that left got an answer")
	}
}

// A line of the log has only the members that the event has.
func TestLogLinesHaveNoEmptyMembers(t *testing.T) {
	log := &locked.Buffer{}
	n := open(t, nil, &process{Node: report.Node{Name: "a", State: report.Ready}}, func(o *Options) { o.Log = zerolog.New(log) })
	n.Record(report.Event{Kind: report.EventState, Text: "node a is draining"})
	n.Record(report.Event{Kind: report.EventAction, Actor: "engine/portal", Operator: "Ada", Text: "restart"})
	find(t, n, "Kind:action")
	want := `{"level":"info","event":"state","message":"node a is draining"}
{"level":"info","event":"action","actor":"engine/portal","operator":"Ada","message":"restart"}
`
	if log.String() != want {
		t.Errorf("got %s, want %s", log.String(), want)
	}
}

// Readers are bounded, and one that leaves makes room.
func TestReadersAreBounded(t *testing.T) {
	n := open(t, nil, &process{Node: report.Node{Name: "a"}}, nil)
	last, _ := n.Last(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, mostReaders+1)
	for range mostReaders + 1 {
		go func() {
			_, err := n.Events(ctx, last)
			ended <- err
		}()
	}
	wantError(t, <-ended, report.Refused, "readers")
	cancel()
	for range mostReaders {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a reader ended with %v", err)
		}
	}
	next := make(chan error, 1)
	go func() {
		_, err := n.Events(t.Context(), last)
		next <- err
	}()
	n.Record(report.Event{Kind: report.EventState})
	if err := <-next; err != nil {
		t.Errorf("after they have left: %v", err)
	}
}

// Events that come faster than the actor records them are counted, and not kept.
func TestTooManyEventsAreDropped(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var block atomic.Bool
	n := open(t, nil, &process{Node: report.Node{Name: "a"}}, func(o *Options) {
		o.Now = func() time.Time {
			if block.Swap(false) {
				close(entered)
				<-leave
			}
			return time.UnixMilli(5)
		}
	})
	block.Store(true)
	n.system.Root.Send(n.pid, newReader(1)) // its answer has the time
	<-entered
	for range mostPending + 3 {
		n.Record(report.Event{Kind: report.EventState, At: time.UnixMilli(8)})
	}
	close(leave)
	find(t, n, "Kind:gap", "3 events came too fast")
}

// Every node has the events of all, those of its own view not of others.
func TestNodesFollowEachOther(t *testing.T) {
	w := newWorld()
	a := open(t, w, &process{Node: report.Node{Name: "a"}}, nil)
	a.Record(report.Event{Kind: report.EventEpoch, Text: "before b came"})
	b := open(t, w, &process{Node: report.Node{Name: "b"}}, nil)
	if e := find(t, b, "before b came"); e.Node != "a" {
		t.Errorf("%+v", e)
	}
	a.Record(report.Event{Kind: report.EventJoined, Node: "b", Text: "b has joined"})
	a.Record(report.Event{Kind: report.EventPanic, Actor: "engine/intake", Text: "oops"})
	e := find(t, b, "oops")
	if e.Node != "a" || e.Actor != "engine/intake" {
		t.Errorf("%+v", e)
	}
	b.Record(report.Event{Kind: report.EventState, Text: "of b"})
	find(t, a, "of b", "Node:b")
	events, _ := b.Events(t.Context(), 0)
	for i, e := range events {
		if strings.Contains(e.Text, "has joined") {
			t.Errorf("b was told of %+v", e)
		}
		if i > 0 && e.Number != events[i-1].Number+1 {
			t.Errorf("number %d after %d", e.Number, events[i-1].Number)
		}
	}
	for _, n := range []*Node{a, b} {
		events, _ := n.Events(t.Context(), 0)
		seen := map[string]int{}
		for _, e := range events {
			if seen[e.Text]++; seen[e.Text] > 1 {
				t.Errorf("%s has %q twice", n.name, e.Text)
			}
		}
	}
}

func TestQuestionsAboutTheCluster(t *testing.T) {
	w := newWorld()
	a := open(t, w, &process{Node: report.Node{Name: "a", State: report.Ready, Epoch: 1}}, nil)
	b := &process{Node: report.Node{Name: "b", State: report.Draining, Epoch: 7}, roster: roster.New(nil)}
	b.roster.Entry("engine/former", "former").Failed("boom", true)
	open(t, w, b, nil)
	c := open(t, w, &process{Node: report.Node{Name: "c", State: report.Ready}}, nil)
	w.mu.Lock()
	w.lost["c"] = true
	w.mu.Unlock()
	for _, n := range []*Node{a, w.nodes["b"]} {
		nodes := n.Nodes(t.Context())
		if len(nodes) != 3 || nodes[0].Epoch != 1 || nodes[1].State != report.Draining || nodes[1].LastFailure == nil || nodes[1].LastFailure.Cause != "boom" ||
			nodes[1].Restarts != 1 || nodes[2].State != report.Lost {
			t.Errorf("%s sees %+v", n.name, nodes)
		}
	}
	list, err := a.Actors(t.Context(), "")
	if err != nil || len(list) != 3 || list[0].Node != "a" || list[0].Path != "node" || list[1].Node != "b" || list[1].Path != "engine/former" || list[1].LastFailure.Cause != "boom" {
		t.Errorf("%+v %v", list, err)
	}
	if list, err = c.Actors(t.Context(), "b"); err != nil || len(list) != 2 {
		t.Errorf("%+v %v", list, err)
	}
	_, err = a.Actors(t.Context(), "d")
	wantError(t, err, report.Unknown, "unknown node d", "a, b, c")
	_, err = a.Actors(t.Context(), "c")
	wantError(t, err, report.Unreachable, "node c")
	if err := a.Answer(t.Context(), "weather", nil, nil); err == nil || !strings.Contains(err.Error(), "unknown question") {
		t.Errorf("%v", err)
	}
	for _, kind := range []string{askAct, askEvents, askAbort} {
		if err := a.Answer(t.Context(), kind, []byte("{"), nil); err == nil {
			t.Errorf("%s: nonsense is answered", kind)
		}
	}
}

func TestANodeThatDoesNotAnswerHasARemedy(t *testing.T) {
	err := unreachable(&Peer{Address: "10.0.0.7:1", Node: report.Node{Name: "b"}}, errGone)
	wantError(t, err, report.Unreachable, "node b at 10.0.0.7:1 does not answer: connection refused; look at `troupe cluster status`, and at the process on its machine")
}

// An abort reaches every node that is not lost, whoever is asked.
func TestAnAbortReachesAllNodes(t *testing.T) {
	w := newWorld()
	aborts := make(chan report.Abort, 3)
	var nodes []*Node
	for _, name := range []string{"a", "b", "c"} {
		nodes = append(nodes, open(t, w, &process{Node: report.Node{Name: name, State: report.Ready}, aborts: aborts}, nil))
	}
	w.mu.Lock()
	w.lost["c"] = true
	w.mu.Unlock()
	asked := report.Abort{UserID: "chat-7", Owner: "0123", AnyOwner: true}
	nodes[1].Abort(t.Context(), asked)
	close(aborts)
	n := 0
	for a := range aborts {
		if n++; a != asked {
			t.Errorf("%+v", a)
		}
	}
	if n != 2 {
		t.Errorf("%d nodes were told, want 2 of 3, because one is lost", n)
	}
}

// size is what an event takes as JSON.
func size(t *testing.T, e report.Event) int {
	t.Helper()
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

// Events are kept and passed on, so they are small, whatever another node sends.
func TestEventsAreSmall(t *testing.T) {
	huge := strings.Repeat("\x01", 1<<20)
	n := open(t, nil, &process{Node: report.Node{Name: "a"}}, nil)
	n.Record(report.Event{Kind: huge, Node: huge, Actor: huge, Operator: huge, Text: "first" + strings.Repeat("é", 1<<20)})
	e := find(t, n, "first")
	if size(t, e) > mostEvent || !utf8.ValidString(e.Text) || len(e.Text) < mostText || len(e.Node) < mostName {
		t.Errorf("an event of %d bytes, with a text of %d", size(t, e), len(e.Text))
	}
	for _, a := range []*report.Action{{Action: "restart", Target: "a/" + huge, Reason: "second"}, {Action: "restart", Target: "a/x", Reason: "third", Operator: huge}} {
		question, err := json.Marshal(timely{n.ticket(), a})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Answer(t.Context(), askAct, question, func(b []byte) error {
			if !strings.Contains(string(b), report.Invalid) {
				t.Errorf("%s is answered with %.200s", a.Reason, b)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if e := find(t, n, "third"); size(t, e) > mostEvent {
		t.Errorf("an event of %d bytes", size(t, e))
	}
}

// shouting are the peers of a node: one, that sends these answers, one each time it is followed.
type shouting struct {
	answers chan []byte
	errs    chan error
}

func (s shouting) Peers(context.Context) ([]Peer, error) {
	return []Peer{{Address: "b", Node: report.Node{Name: "b", Incarnation: "b"}}}, nil
}

func (s shouting) Ask(ctx context.Context, _, _ string, _ []byte, each func([]byte) error) error {
	select {
	case b := <-s.answers:
		err := each(b)
		s.errs <- err
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestAHugeEventOfAnotherNodeIsRefused(t *testing.T) {
	n := open(t, nil, &process{Node: report.Node{Name: "a"}}, nil)
	s := shouting{make(chan []byte), make(chan error)}
	n.Join(s)
	for _, actor := range []string{strings.Repeat("x", mostEvent), "engine/queue"} {
		b, err := json.Marshal(report.Event{Number: 7, Node: "b", Kind: report.EventPanic, Actor: actor, Text: "oops"})
		if err != nil {
			t.Fatal(err)
		}
		s.answers <- b
		if err := <-s.errs; (err != nil) != (len(actor) == mostEvent) {
			t.Errorf("an event of %d bytes: %v", len(b), err)
		}
	}
	if e := find(t, n, "oops"); e.Actor != "engine/queue" {
		t.Errorf("%.200s is recorded", e.Actor)
	}
}
