package clustertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/wire"
)

var strangers atomic.Int32

// stranger is the hello of a gateway that this cluster accepts. No other one is like it.
func stranger() *wire.Hello {
	i := strangers.Add(1)
	return &wire.Hello{Protocol: 1, Cluster: "troupe", Node: fmt.Sprint("stranger-", i), Incarnation: fmt.Sprintf("stranger-%d-%d", i, rand.Int64()),
		Address: fmt.Sprintf("127.0.0.1:%d", i), Gateway: true, State: "ready"}
}

// attack is something that a hostile peer does to a node.
type attack struct {
	name string
	do   func(t *testing.T, target *Node) error
}

// mayStay is how long a stream is read that the node need not end.
const mayStay = 200 * time.Millisecond

// sends connects and sends messages; the node must end the stream.
func sends(list ...*remote.RemoteMessage) func(*testing.T, *Node) error {
	return func(_ *testing.T, target *Node) error {
		h, err := NewHostile(target.Listen)
		if err != nil {
			return err
		}
		defer h.Close()
		if err := h.Send(10*time.Second, list...); err == nil {
			return errors.New("the node has not ended the stream")
		}
		return nil
	}
}

// batches are what the runtime would trust: any of them could end the process or an actor.
func batches() map[string]*remote.MessageBatch {
	stop, _ := proto.Marshal(&actor.Stop{})
	one := func(typeName, target string) *remote.MessageBatch {
		return &remote.MessageBatch{TypeNames: []string{typeName}, Targets: []string{target}, Envelopes: []*remote.MessageEnvelope{{MessageData: stop}}}
	}
	list := map[string]*remote.MessageBatch{
		"an unknown type": one("nobody.Knows", "cluster"), "a watch": one("actor.Watch", "cluster"), "a termination": one("actor.Terminated", "cluster"),
		"a spawn": one("remote.ActorPidRequest", "activator"),
	}
	for _, target := range []string{"cluster", "cluster/engine-1", "cluster/gateway-1", "engine", "engine/supervisor", "gateway-troupe-little/intake", "$1", "activator", "EndpointSupervisor", "node"} {
		list["a stop for "+target] = one("actor.Stop", target)
		list["a poison pill for "+target] = one("actor.PoisonPill", target)
	}
	for name, change := range map[string]func(*remote.MessageEnvelope){
		"a type index":  func(e *remote.MessageEnvelope) { e.TypeId = 1 << 30 },
		"type -1":       func(e *remote.MessageEnvelope) { e.TypeId = -1 },
		"a target":      func(e *remote.MessageEnvelope) { e.Target = 1 << 30 },
		"target -1":     func(e *remote.MessageEnvelope) { e.Target = -1 },
		"a sender":      func(e *remote.MessageEnvelope) { e.Sender = 7 },
		"a serializer":  func(e *remote.MessageEnvelope) { e.SerializerId = 1 },
		"serializer 99": func(e *remote.MessageEnvelope) { e.SerializerId = 99 },
	} {
		b := one("troupe.cluster.v1.Frame", "00000000000000000000000000000000")
		change(b.Envelopes[0])
		list[name] = b
	}
	return list
}

// hellos are those that a node must refuse.
func hellos() map[string]func(*wire.Hello) {
	return map[string]func(*wire.Hello){
		"another protocol": func(h *wire.Hello) { h.Protocol = 99 },
		"another cluster":  func(h *wire.Hello) { h.Cluster = "prod" },
		"a name twice":     func(h *wire.Hello) { h.Node = "engine-1" },
		"nothing":          func(h *wire.Hello) { proto.Reset(h) },
		"a long name":      func(h *wire.Hello) { h.Node = strings.Repeat("x", 1<<20) },
		"a million peers":  func(h *wire.Hello) { h.Known = make([]string, 1<<20) },
		"an impossible size": func(h *wire.Hello) {
			h.Engine = &wire.Model{Name: "m", Weights: "w", Texts: "t", Fingerprint: "f", Vocab: -1}
		},
	}
}

// frames are what a peer with a link of its own may get wrong: it alone loses its link.
func frames() map[string][]*wire.Frame {
	beat := func(seq, handled uint64) *wire.Frame {
		return &wire.Frame{Seq: seq, Body: &wire.Frame_Heartbeat{Heartbeat: &wire.Heartbeat{Handled: handled}}}
	}
	piece := func(seq uint64, data []byte, last bool) *wire.Frame {
		return &wire.Frame{Seq: seq, Body: &wire.Frame_Piece{Piece: &wire.Piece{Data: data, Last: last}}}
	}
	bulk := func(b *wire.Bulk) []*wire.Frame {
		data, _ := proto.Marshal(b)
		return []*wire.Frame{beat(1, 0), piece(2, data, true)}
	}
	enqueue := func(q *wire.Request) []*wire.Frame {
		return bulk(&wire.Bulk{Body: &wire.Bulk_Enqueue{Enqueue: &wire.Enqueue{Epoch: 1, Requests: []*wire.Request{q}}}})
	}
	params := &wire.Params{MaxTokens: 5, TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1, PromptLogprobs: -1}
	list := map[string][]*wire.Frame{
		"a gap":                 {beat(1, 0), beat(3, 0)},
		"a frame without body":  {beat(1, 0), {Seq: 2}},
		"handled in the future": {beat(1, 1<<60)},
		"garbage in a piece":    {beat(1, 0), piece(2, []byte("\xff\xff\xff\xff"), true)},
		"a large piece":         {beat(1, 0), piece(2, make([]byte, 1<<20), false)},
		"results of an engine":  {beat(1, 0), {Seq: 2, Body: &wire.Frame_Results{Results: &wire.Results{Epoch: 1, Seq: 1}}}},
		"an epoch's end":        {beat(1, 0), {Seq: 2, Body: &wire.Frame_EpochEnded{EpochEnded: &wire.EpochEnded{Epoch: 1}}}},
		"a token too large":     enqueue(&wire.Request{Id: 1, Prompt: []int32{1 << 30}, Params: params}),
		"a token below 0":       enqueue(&wire.Request{Id: 1, Prompt: []int32{-1}, Params: params}),
		"a long prompt":         enqueue(&wire.Request{Id: 1, Prompt: make([]int32, 1<<16), Params: params}),
		"no parameters":         enqueue(&wire.Request{Id: 1, Prompt: []int32{1}}),
		"bad parameters":        enqueue(&wire.Request{Id: 1, Prompt: []int32{1}, Params: &wire.Params{MaxTokens: -5, TopLogprobs: 1 << 30, BiasTokens: []int32{1, 2}}}),
	}
	var endless []*wire.Frame
	for i := range uint64(1200) { // 75 MB of one message
		endless = append(endless, piece(i+1, make([]byte, 64<<10), false))
	}
	list["a message without end"] = endless
	return list
}

// attacks are all of them.
func attacks() (list []attack) {
	for name, b := range batches() {
		list = append(list, attack{name, sends(Connected("127.0.0.1:9"), Batch(b))})
	}
	list = append(list,
		attack{"100 MB", sends(Connected("127.0.0.1:9"), Batch(&remote.MessageBatch{TypeNames: []string{strings.Repeat("x", 100<<20)}}))},
		attack{"a client connection", sends(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectRequest{ConnectRequest: &remote.ConnectRequest{
			ConnectionType: &remote.ConnectRequest_ClientConnection{ClientConnection: &remote.ClientConnection{MemberId: "x"}}}}})},
		attack{"an empty connect request", sends(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectRequest{}})},
		attack{"an answer", sends(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectResponse{ConnectResponse: &remote.ConnectResponse{}}})},
		attack{"nothing", sends(&remote.RemoteMessage{})},
		attack{"frames for others", framesForOthers}, attack{"unary calls", unary}, attack{"unknown methods", unknownMethods}, attack{"no HTTP/2", garbage}, attack{"many streams", manyStreams},
		attack{"many silent connections", silentConnections}, attack{"other weights", otherWeights}, attack{"the name of another node", impersonate},
	)
	for name, change := range hellos() {
		list = append(list, attack{"a hello with " + name, func(_ *testing.T, target *Node) error { return refused(target, change) }})
	}
	for name, f := range frames() {
		list = append(list, attack{"on a link: " + name, func(_ *testing.T, target *Node) error { return onLink(target, f) }})
	}
	return list
}

// framesForOthers are for actors and for keys that the node may have: they are left out.
func framesForOthers(_ *testing.T, target *Node) error {
	h, err := NewHostile(target.Listen)
	if err != nil {
		return err
	}
	defer h.Close()
	list := []*remote.RemoteMessage{Connected("127.0.0.1:9")}
	for i, key := range []string{"cluster", "cluster/engine-1", "cluster/gateway-1", "engine", "", "00000000000000000000000000000000"} {
		goodbye := &wire.Frame{Seq: uint64(i), Body: &wire.Frame_Goodbye{Goodbye: &wire.Goodbye{Cause: "hostile"}}}
		list = append(list, Frames(key, goodbye))
	}
	return h.Send(mayStay, list...)
}

func unary(_ *testing.T, target *Node) error {
	h, err := NewHostile(target.Listen)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Unary(); err == nil || !strings.Contains(err.Error(), "no unary calls") {
		return fmt.Errorf("unary calls: %v", err)
	}
	return nil
}

func unknownMethods(_ *testing.T, target *Node) error {
	h, err := NewHostile(target.Listen)
	if err != nil {
		return err
	}
	defer h.Close()
	for _, method := range []string{"", "Nothing", "../Meet", strings.Repeat("x", 10000), "Fetch"} {
		if err := h.Call(method, &wire.Fetch{Hash: strings.Repeat("f", 100)}, &wire.Piece{}); err == nil {
			return fmt.Errorf("method %.20q answers", method)
		}
	}
	return nil
}

// garbage is no HTTP/2.
func garbage(_ *testing.T, target *Node) error {
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", strings.Repeat("\x00", 100000), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\xff", 1000)} {
		c, err := net.Dial("tcp", target.Listen)
		if err != nil {
			return err
		}
		c.SetDeadline(time.Now().Add(20 * time.Second))
		c.Write([]byte(text))
		buf := make([]byte, 1<<16)
		for err == nil {
			_, err = c.Read(buf)
		}
		c.Close()
		if errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "timeout") {
			return fmt.Errorf("the connection is open 20 s after %.20q", text)
		}
	}
	return nil
}

// manyStreams begins more streams on a connection than the node allows.
func manyStreams(_ *testing.T, target *Node) error {
	h, err := NewHostile(target.Listen)
	if err != nil {
		return err
	}
	defer h.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range 2000 {
		all.Go(func() {
			stream, err := remote.NewRemotingClient(h.conn).Receive(ctx)
			if err == nil && stream.Send(Connected("127.0.0.1:9")) == nil {
				stream.Recv()
			}
		})
	}
	all.Wait()
	return nil
}

// silentConnections says nothing, until the others are done.
func silentConnections(t *testing.T, target *Node) error {
	for range 300 {
		c, err := net.Dial("tcp", target.Listen)
		if err != nil {
			return err
		}
		t.Cleanup(func() { c.Close() })
	}
	return nil
}

// refused sends a changed hello, as an introduction and to open a link.
func refused(target *Node, change func(*wire.Hello)) error {
	h, err := NewHostile(target.Listen)
	if err != nil {
		return err
	}
	defer h.Close()
	hello := stranger()
	change(hello)
	if err := h.Call("Meet", hello, &wire.Hello{}); status.Code(err) != codes.FailedPrecondition && status.Code(err) != codes.InvalidArgument {
		return fmt.Errorf("the hello is answered with %v", err)
	}
	if _, err := h.Open(hello); status.Code(err) != codes.FailedPrecondition && status.Code(err) != codes.InvalidArgument {
		return fmt.Errorf("a link with the hello: %v", err)
	}
	return nil
}

// otherWeights joins as an engine of the model that has other weights: gateways refuse it.
func otherWeights(_ *testing.T, target *Node) error {
	if !target.Gateway {
		return nil // it does not use engines
	}
	return refused(target, func(h *wire.Hello) {
		h.Engine = &wire.Model{Name: "troupe-little", Weights: "w", Texts: "t", Fingerprint: "f", Context: 1024, Vocab: 1280, PoolTokens: 65536, PageSize: 16, Running: 64}
	})
}

// impersonate opens links, and introduces itself, with the hellos of nodes that it has
// asked, as they are and with another incarnation. Theirs must not end.
func impersonate(_ *testing.T, target *Node) error {
	h, err := NewHostile(target.Listen)
	if err != nil {
		return err
	}
	defer h.Close()
	var self wire.Hello
	if err := h.Call("Meet", stranger(), &self); err != nil {
		return err
	}
	for _, address := range self.Known {
		other, err := NewHostile(address)
		if err != nil {
			return err
		}
		defer other.Close()
		hello := &wire.Hello{}
		if err := other.Call("Meet", stranger(), hello); err != nil {
			continue // another stranger, that does not listen
		}
		h.Open(hello)
		hello.Incarnation = "another"
		h.Open(hello)
		h.Call("Meet", hello, &wire.Hello{})
	}
	return nil
}

// onLink opens a link to an engine and sends frames. The engine's end must go.
func onLink(target *Node, list []*wire.Frame) error {
	if target.Gateway {
		return nil // it has nothing to link
	}
	h, err := NewHostile(target.Listen)
	if err != nil {
		return err
	}
	defer h.Close()
	key, err := h.Open(stranger())
	if err != nil {
		return err
	}
	messages := []*remote.RemoteMessage{Connected("127.0.0.1:9")}
	for len(list) > 0 {
		n := min(len(list), 64)
		messages, list = append(messages, Frames(key, list[:n]...)), list[n:]
	}
	h.Send(mayStay, messages...) // the stream may stay: only the link is over
	return h.over(key)
}

// over checks that a link is over: another connection may not bring frames for a link, but
// frames of one that is over are left out.
func (h *Hostile) over(key string) error {
	other, err := NewHostile(h.conn.Target()[len("passthrough:///"):])
	if err != nil {
		return err
	}
	defer other.Close()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if err := other.Send(10*time.Second, Connected("127.0.0.1:9"), Frames(key, &wire.Frame{Seq: 1})); err == nil {
			return nil
		}
	}
	return errors.New("the link is still there")
}

// TestHostilePeers attacks gateways and engines with everything that a peer with a valid
// connection can do. Only its own connections and links end: all streams of others go on.
func TestHostilePeers(t *testing.T) {
	requests := Workload(8, 60, Lengths{40, 120})
	x := &load{t: t, client: NewClient(16), requests: requests, want: reference(t, requests)}
	c := Start(t, Options{Gateways: 1, Engines: 2, Args: []string{"--debug-step-time", "5ms"}})
	x.gateways = c.Gateways
	base := warmUp(t, c, x, 16)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { x.run(ctx, 16, 8) })
	var attackers sync.WaitGroup
	few := make(chan bool, 8) // at a time
	for _, a := range attacks() {
		for _, target := range []*Node{c.Gateways[0], c.Engines[0]} {
			few <- true
			attackers.Go(func() {
				if err := a.do(t, target); err != nil {
					t.Errorf("%s: %s: %v", target.Name, a.name, err)
				}
				<-few
			})
		}
	}
	attackers.Wait()
	stop()
	running.Wait()
	t.Logf("%d attacks, %d answers of others; longest pauses of streams, %v", 2*len(attacks()), x.answered.Load(), x.pauses)
	for _, n := range c.Nodes() {
		for line := range strings.Lines(n.Log()) {
			if strings.Contains(line, `"event":"unlinked"`) {
				t.Errorf("%s: a link of others has ended: %s", n.Name, strings.TrimSpace(line))
			}
		}
	}
	x.client.HTTP.CloseIdleConnections()
	settleAtRest(t, c, base)
}
