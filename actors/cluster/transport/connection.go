package transport

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/troupe-engine/troupe/cluster/wire"
)

// connection is a stream of a peer's frames to this node.
type connection struct {
	grpc.ServerStream
	links *links
	cause string // why it was refused
}

// errOver is the fate of a frame for a link that this node does not have: it is left out.
var errOver = errors.New("the link is over")

// keyHeader is what the check adds to a frame: the key that it came with.
const keyHeader = "key"

// Key is the key that a frame came with. An actor must compare it with that of its link: a
// frame of an earlier link may come late, and actors of links have the same names again.
func Key(ctx actor.Context) string {
	if h := ctx.MessageHeader(); h != nil {
		return h.Get(keyHeader)
	}
	return ""
}

// frameType is the only type of message that peers send.
var frameType = string((&wire.Frame{}).ProtoReflect().Descriptor().FullName())

// refuseUnary refuses the runtime's unary calls, which panic.
func refuseUnary(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
	return nil, status.Error(codes.Unimplemented, "this node has no unary calls")
}

// checkStream checks what the streams of peers bring, and tells links when theirs ends.
func (t *Transport) checkStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() { // grpc has no recover: a panic would end the process
		if p := recover(); p != nil {
			t.opt.Log.Error().Str("method", info.FullMethod).Str("stack", string(debug.Stack())).Msg("bug in the server: a call of another node panicked; please report it")
			err = status.Error(codes.Internal, "the call panicked")
		}
	}()
	if srv == nil { // of no service: a call of this package. The name of the method is what the peer says
		return handler(srv, stream)
	}
	c := &connection{ServerStream: stream, links: t.links}
	defer func() {
		cause := "the connection from the peer is lost"
		if c.cause != "" {
			cause = c.cause
			from := "unknown"
			if p, ok := peer.FromContext(stream.Context()); ok {
				from = p.Addr.String()
			}
			t.opt.Log.Warn().Str("peer", from).Str("cause", cause).Msg("another node sent something that is not allowed; the connection is closed")
		}
		t.links.ended(c, cause)
	}()
	return handler(srv, c)
}

// RecvMsg implements grpc.ServerStream.
func (c *connection) RecvMsg(m any) error {
	if err := c.ServerStream.RecvMsg(m); err != nil {
		if code := status.Code(err); code == codes.ResourceExhausted || code == codes.Internal {
			c.cause = status.Convert(err).Message()
		}
		return err
	}
	msg, ok := m.(*remote.RemoteMessage)
	if !ok {
		return c.refuse(fmt.Errorf("a message of type %T", m))
	}
	switch body := msg.MessageType.(type) {
	case *remote.RemoteMessage_ConnectRequest:
		if body.ConnectRequest.GetServerConnection() == nil {
			return c.refuse(errors.New("a connect request that does not come from a node"))
		}
	case *remote.RemoteMessage_MessageBatch:
		if err := c.checkBatch(body.MessageBatch); err != nil {
			return c.refuse(err)
		}
	default:
		return c.refuse(fmt.Errorf("a message of type %T", body))
	}
	return nil
}

func (c *connection) refuse(err error) error {
	c.cause = "not allowed: " + err.Error()
	return status.Error(codes.InvalidArgument, c.cause)
}

// checkBatch checks everything that the runtime uses without a check, and replaces keys by
// the names of actors. Frames of links that this node does not have are left out.
func (c *connection) checkBatch(b *remote.MessageBatch) error {
	for _, name := range b.TypeNames {
		if name != frameType {
			return fmt.Errorf("a message of type %.100q", name)
		}
	}
	headers := make([]*remote.MessageHeader, len(b.Targets)) // nil: the link is over
	for i, key := range b.Targets {
		id, err := c.links.carry(c, key)
		switch {
		case err == nil:
			headers[i] = &remote.MessageHeader{HeaderData: map[string]string{keyHeader: key}}
		case !errors.Is(err, errOver):
			return err
		}
		b.Targets[i] = id
	}
	kept := b.Envelopes[:0]
	for _, e := range b.Envelopes {
		switch {
		case e == nil:
			return errors.New("an empty envelope")
		case e.TypeId < 0 || int(e.TypeId) >= len(b.TypeNames):
			return fmt.Errorf("type %d of %d", e.TypeId, len(b.TypeNames))
		case e.Target < 0 || int(e.Target) >= len(b.Targets):
			return fmt.Errorf("target %d of %d", e.Target, len(b.Targets))
		case e.SerializerId != 0:
			return fmt.Errorf("serializer %d", e.SerializerId)
		case e.Sender != 0 || e.TargetRequestId != 0 || e.SenderRequestId != 0 || e.MessageHeader != nil:
			return errors.New("a frame with a sender or a header")
		}
		if e.MessageHeader = headers[e.Target]; e.MessageHeader != nil {
			kept = append(kept, e)
		}
	}
	b.Envelopes = kept
	return nil
}
