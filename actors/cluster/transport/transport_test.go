package transport

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/wire"
)

// answering is a door that answers every call with a hello.
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

func start2(t *testing.T, listen string, dial func(context.Context, string) (net.Conn, error)) *Transport {
	t.Helper()
	tr, err := Start(actor.NewActorSystem(actor.WithLoggerFactory(quiet)), Options{Listen: listen, Incarnation: t.Name(), Door: answering{}, Log: zerolog.Nop(), Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Stop)
	return tr
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
	several(t)
	server := start2(t, "127.0.0.1:0", nil)
	var dials atomic.Int32
	first := &atomic.Bool{}
	client := start2(t, "127.0.0.1:0", func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		silent := &atomic.Bool{}
		if dials.Add(1) == 1 {
			silent = first
		}
		return &mute{conn, silent, make(chan struct{})}, err
	})
	if err := meet(t, client, server.Advertised(), "one", time.Minute); err != nil {
		t.Fatal(err)
	}
	first.Store(true)
	if err := meet(t, client, server.Advertised(), "two", 50*time.Millisecond); err == nil {
		t.Fatal("a connection that is not heard has an answer")
	}
	if err := meet(t, client, server.Advertised(), "three", time.Minute); err != nil || dials.Load() != 2 {
		t.Errorf("the next call: %v, after %d dials", err, dials.Load())
	}
	if err := meet(t, client, server.Advertised(), "stranger", time.Minute); !errors.As(err, new(*Refusal)) || dials.Load() != 2 {
		t.Errorf("a refusal: %v, after %d dials", err, dials.Load())
	}
	if err := meet(t, client, server.Advertised(), "four", time.Minute); err != nil || dials.Load() != 2 {
		t.Errorf("a refusal ends the connection: %v, after %d dials", err, dials.Load())
	}
}

// grpc waits longer and longer before it dials again, up to two minutes.
func TestANodeThatComesBackIsReachedAtOnce(t *testing.T) {
	several(t)
	var down atomic.Bool
	down.Store(true)
	server := start2(t, "127.0.0.1:0", nil)
	client := start2(t, "127.0.0.1:0", func(ctx context.Context, address string) (net.Conn, error) {
		if down.Load() {
			return nil, errors.New("connection refused")
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	})
	for range 20 {
		if err := meet(t, client, server.Advertised(), "one", time.Minute); err == nil {
			t.Fatal("a node that is down answers")
		}
	}
	down.Store(false)
	if err := meet(t, client, server.Advertised(), "one", time.Minute); err != nil {
		t.Errorf("the node is back, and the first call gets %v", err)
	}
	if n := len(client.clients.by); n != 1 {
		t.Errorf("%d connections are kept", n)
	}
}
