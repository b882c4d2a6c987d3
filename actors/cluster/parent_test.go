package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/cluster/transport"
	"github.com/troupe-engine/troupe/cluster/members"
	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

// watched is a parent that says which of its actors have stopped.
type watched struct {
	*parent
	stopped chan string
}

func (w *watched) Receive(ctx actor.Context) {
	w.parent.Receive(ctx)
	if m, ok := ctx.Message().(*actor.Terminated); ok {
		w.stopped <- m.Who.Id
	}
}

// lone is a parent without other nodes: the test sends its messages.
func lone(t *testing.T, gateway bool) (*Cluster, chan string) {
	t.Helper()
	self := &wire.Hello{Protocol: 1, Cluster: "test", Node: "lone", Incarnation: fmt.Sprint("lone-", incarnations.Add(1)), Gateway: gateway, State: report.Ready}
	c := &Cluster{system: actor.NewActorSystem(actor.WithLoggerFactory(quiet)), opt: Options{Self: self, Timeout: time.Minute, Meter: nowhere{}, Log: zerolog.Nop()}}
	c.opt.Clock = func() (now time.Duration) { return now }
	c.opt.Transport = transport.Options{Listen: "127.0.0.1:0", Incarnation: self.Incarnation, Log: zerolog.Nop(), Calls: callServer{c}}
	var err error
	if c.transport, err = transport.Start(c.system, c.opt.Transport); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.transport.Stop)
	self.Address = c.transport.Advertised()
	c.pid = c.system.NewLocalPID(Name)
	w := &watched{newParent(c, members.New(members.Options{Self: self, Timeout: time.Minute}), nil), make(chan string, 1000)}
	if _, err := c.system.Root.SpawnNamed(actor.PropsFromProducer(func() actor.Actor { return w }), Name); err != nil {
		t.Fatal(err)
	}
	return c, w.stopped
}

// The end of a link's actor is told once. The next link has the same name, and would be
// taken for the one that has ended.
func TestTheEndOfALinkIsToldOnce(t *testing.T) {
	several(t)
	c, stopped := lone(t, false)
	root := c.system.Root
	c.Serve(&Engine{Portal: c.system.NewLocalPID("portal"), Model: facts(), Texts: texts, Limits: limits})
	const links = 50
	for i := range links {
		answer := make(chan reply, 1)
		hello := &wire.Hello{Protocol: 1, Cluster: "test", Node: "other", Incarnation: "1", Address: "127.0.0.1:1", Gateway: true, State: report.Ready}
		root.Send(c.pid, &called{hello, &wire.OpenLink{Hello: hello, Key: "key"}, answer})
		if r := <-answer; r.err != nil {
			t.Fatal(r.err)
		}
		name := linkName(playsGateway, 1)
		if e, err := c.find(t.Context(), &findEnd{name: name}); e == nil || err != nil {
			t.Fatalf("link %d is not there: %v", i, err)
		}
		root.Send(linkPID(c.system, playsGateway, 1), &messages.EndLink{Cause: "a test"})
		<-stopped
		if e, err := c.find(t.Context(), &findEnd{name: name}); e != nil || err != nil { // what was told before is handled
			t.Fatalf("link %d has not ended: %v", i, err)
		}
		if len(stopped) > 0 {
			t.Fatalf("the end of link %d was told twice", i)
		}
	}
}

// A link whose call was on its way when the node began to shut down does not begin: nothing
// would end it.
func TestALinkThatOpensAtTheEndDoesNotBegin(t *testing.T) {
	several(t)
	c, _ := lone(t, true)
	root, done := c.system.Root, make(chan struct{})
	hello := &wire.Hello{Protocol: 1, Cluster: "test", Node: "other", Incarnation: "1", Address: "127.0.0.1:1", State: report.Ready, Engine: facts()}
	root.Send(c.pid, &learned{facts(), &GatewayModel{Dispatch: c.system.NewLocalPID("dispatch"), Limits: limits}, nil})
	root.Send(c.pid, &leave{done})
	root.Send(c.pid, &opened{link: members.Link{Slot: 1, Hello: hello}, key: "here", peerKey: "there"})
	<-done
	if e, err := c.find(t.Context(), &findEnd{name: linkName(playsEngine, 1)}); e != nil || err != nil {
		t.Errorf("the link has begun: %v", err)
	}
}

func TestTheLogNamesNodesAsNodes(t *testing.T) {
	var log strings.Builder
	p := &parent{cluster: &Cluster{opt: Options{Log: zerolog.New(&log)}}, out: members.Outbox{Events: []members.Event{
		{Kind: report.EventLost, Node: "two", Text: "node two is lost"}, {Kind: report.EventModel, Text: "a model"},
	}}}
	p.carryOut()
	const want = `{"level":"warn","event":"lost","node":"two","message":"node two is lost"}` + "\n" + `{"level":"info","event":"model","message":"a model"}` + "\n"
	if log.String() != want {
		t.Errorf("%s", log.String())
	}
}
