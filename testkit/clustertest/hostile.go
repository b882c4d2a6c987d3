package clustertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/wire"
)

// Hostile is a peer that speaks the protocol between nodes and breaks it on purpose. It has one
// connection to a node.
type Hostile struct {
	conn *grpc.ClientConn
}

// NewHostile connects to a node's cluster-listen.
func NewHostile(address string) (*Hostile, error) {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(1<<30)), grpc.WithAuthority("troupe"))
	return &Hostile{conn}, err
}

// Close ends the connection.
func (h *Hostile) Close() { h.conn.Close() }

// patient bounds a call of a hostile peer.
func patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 20*time.Second)
}

// Call calls a method of a node and returns the first answer.
func (h *Hostile) Call(method string, question, answer proto.Message) error {
	ctx, cancel := patient()
	defer cancel()
	stream, err := h.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/troupe.cluster.v1.Node/"+method)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(question); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return stream.RecvMsg(answer)
}

// Open opens a link as a gateway would, and returns the key for frames to the engine.
func (h *Hostile) Open(hello *wire.Hello) (string, error) {
	var opened wire.LinkOpened
	err := h.Call("OpenLink", &wire.OpenLink{Hello: hello, Key: "0123456789abcdef0123456789abcdef"}, &opened)
	return opened.Key, err
}

// Send sends messages over a stream of the runtime, and returns how the node ended the
// stream: nil if it had not done so after a while.
func (h *Hostile) Send(while time.Duration, list ...*remote.RemoteMessage) error {
	ctx, cancel := patient()
	stream, err := remote.NewRemotingClient(h.conn).Receive(ctx)
	if err != nil {
		cancel()
		return err
	}
	for _, m := range list {
		if err := stream.Send(m); err != nil {
			break // Recv knows why
		}
	}
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		for {
			if _, err := stream.Recv(); err != nil {
				ended <- err
				return
			}
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(while):
		return nil
	}
}

// Unary calls a method of the runtime that has one answer.
func (h *Hostile) Unary() error {
	ctx, cancel := patient()
	defer cancel()
	c := remote.NewRemotingClient(h.conn)
	_, list := c.ListProcesses(ctx, &remote.ListProcessesRequest{Pattern: "*"})
	_, diagnose := c.GetProcessDiagnostics(ctx, &remote.GetProcessDiagnosticsRequest{})
	if list == nil || diagnose == nil {
		return nil
	}
	return fmt.Errorf("%w; %w", list, diagnose)
}

// Connected is the first message of a node's stream.
func Connected(address string) *remote.RemoteMessage {
	return &remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectRequest{ConnectRequest: &remote.ConnectRequest{
		ConnectionType: &remote.ConnectRequest_ServerConnection{ServerConnection: &remote.ServerConnection{Address: address, MemberId: "hostile"}}}}}
}

// Frames is a batch of frames for a key.
func Frames(key string, frames ...*wire.Frame) *remote.RemoteMessage {
	b := &remote.MessageBatch{TypeNames: []string{"troupe.cluster.v1.Frame"}, Targets: []string{key}}
	for _, f := range frames {
		data, err := proto.Marshal(f)
		if err != nil {
			panic(err) // a frame of this process
		}
		b.Envelopes = append(b.Envelopes, &remote.MessageEnvelope{MessageData: data})
	}
	return Batch(b)
}

// Batch is any batch.
func Batch(b *remote.MessageBatch) *remote.RemoteMessage {
	return &remote.RemoteMessage{MessageType: &remote.RemoteMessage_MessageBatch{MessageBatch: b}}
}
