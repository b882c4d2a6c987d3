package transport

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/wire"
)

// answering answers every call with a hello.
type answering struct{}

func (answering) Serve(_ context.Context, _ string, read, write func(proto.Message) error) error {
	h := &wire.Hello{}
	if err := read(h); err != nil {
		return err
	}
	if h.Node == "stranger" {
		return errors.New("not you")
	}
	return write(&wire.Hello{Node: "answer to " + h.Node})
}

// server is a node that answers. There is one for all tests, because the runtime's start
// sets grpc's logger, which the connections of others use.
var server = sync.OnceValues(func() (string, error) {
	tr, err := Start(actor.NewActorSystem(actor.WithLoggerFactory(quiet)), Options{Listen: "127.0.0.1:0", Incarnation: "server", Calls: answering{}, Log: zerolog.Nop()})
	if err != nil {
		return "", err
	}
	return tr.Advertised(), nil
})

// caller is a node that only calls. It returns the address of the server, too.
func caller(t *testing.T, dial func(context.Context, string) (net.Conn, error)) (*Transport, string) {
	t.Helper()
	at, err := server()
	if err != nil {
		t.Fatal(err)
	}
	tr := &Transport{opt: Options{Dial: dial}}
	tr.clients = &clients{dial: tr.dialOptions()}
	t.Cleanup(tr.clients.close)
	return tr, at
}

func meet(t *testing.T, tr *Transport, at, name string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	h, err := CallOne[wire.Hello](ctx, tr, at, "Meet", &wire.Hello{Node: name})
	if err == nil && h.Node != "answer to "+name {
		t.Errorf("the answer is %v", h)
	}
	return err
}

// mute is a connection whose peer is not heard any more once it is silent, although what
// is written to it arrives.
type mute struct {
	net.Conn
	silent *atomic.Bool
	closed chan struct{}
}

func (m *mute) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	if err == nil && m.silent.Load() {
		<-m.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (m *mute) Close() error {
	select {
	case <-m.closed:
	default:
		close(m.closed)
	}
	return m.Conn.Close()
}

func TestACallWithoutAnAnswerIsTheLastOfItsConnection(t *testing.T) {
	var dials atomic.Int32
	first := &atomic.Bool{}
	client, at := caller(t, func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		silent := &atomic.Bool{}
		if dials.Add(1) == 1 {
			silent = first
		}
		return &mute{conn, silent, make(chan struct{})}, err
	})
	if err := meet(t, client, at, "one", time.Minute); err != nil {
		t.Fatal(err)
	}
	first.Store(true)
	if err := meet(t, client, at, "two", 50*time.Millisecond); err == nil {
		t.Fatal("a connection that is not heard has an answer")
	}
	if err := meet(t, client, at, "three", time.Minute); err != nil || dials.Load() != 2 {
		t.Errorf("the next call: %v, after %d dials", err, dials.Load())
	}
	if err := meet(t, client, at, "stranger", time.Minute); !errors.As(err, new(*Refusal)) || dials.Load() != 2 {
		t.Errorf("a refusal: %v, after %d dials", err, dials.Load())
	}
	if err := meet(t, client, at, "four", time.Minute); err != nil || dials.Load() != 2 {
		t.Errorf("a refusal ends the connection: %v, after %d dials", err, dials.Load())
	}
}

// grpc waits longer and longer before it dials again, up to two minutes.
func TestANodeThatComesBackIsReachedAtOnce(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	client, at := caller(t, func(ctx context.Context, address string) (net.Conn, error) {
		if down.Load() {
			return nil, errors.New("connection refused")
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	})
	for range 20 {
		if err := meet(t, client, at, "one", time.Minute); err == nil {
			t.Fatal("a node that is down answers")
		}
	}
	down.Store(false)
	if err := meet(t, client, at, "one", time.Minute); err != nil {
		t.Errorf("the node is back, and the first call gets %v", err)
	}
	if n := len(client.clients.by); n != 1 {
		t.Errorf("%d connections are kept", n)
	}
}
