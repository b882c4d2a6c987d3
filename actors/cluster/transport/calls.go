package transport

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Calls answers the calls of other nodes. A method has a name without slashes, takes one
// message, and answers with any number of them. Serve is called on a goroutine of the call.
type Calls interface {
	// Serve reads the question with read, and answers with write, until it returns. An
	// error reaches the caller as text.
	Serve(ctx context.Context, method string, read, write func(proto.Message) error) error
}

const callPath = "/troupe.cluster.v1.Node/"

// serveCall gets every call that is not the runtime's.
func (t *Transport) serveCall(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	method, ok := strings.CutPrefix(full, callPath)
	if !ok || t.opt.Calls == nil {
		return status.Errorf(codes.Unimplemented, "unknown method %.100q", full)
	}
	read := func(m proto.Message) error { return stream.RecvMsg(m) }
	write := func(m proto.Message) error { return stream.SendMsg(m) }
	if err := t.opt.Calls.Serve(stream.Context(), method, read, write); err != nil {
		if _, ok := status.FromError(err); ok {
			return err
		}
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	return nil
}

// Call asks a node at host:port. each is called with a message made by answer for every
// message of the answer. An error that the node has answered with is a *Refusal.
func (t *Transport) Call(ctx context.Context, hostPort, method string, question proto.Message, answer func() proto.Message, each func(proto.Message) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := t.clients.get(hostPort)
	if err != nil {
		return err
	}
	defer func() { t.clients.put(client, err != nil && !errors.As(err, new(*Refusal))) }()
	stream, err := client.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, callPath+method)
	if err != nil {
		return plain(err)
	}
	if err := stream.SendMsg(question); err != nil && !errors.Is(err, io.EOF) {
		return plain(err)
	}
	if err := stream.CloseSend(); err != nil {
		return plain(err)
	}
	for {
		m := answer()
		switch err := stream.RecvMsg(m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return plain(err)
		}
		if err := each(m); err != nil {
			return err
		}
	}
}

// CallOne is Call for a method that answers with one message.
func CallOne[A any, M interface {
	*A
	proto.Message
}](ctx context.Context, t *Transport, hostPort, method string, question proto.Message) (M, error) {
	var got M
	err := t.Call(ctx, hostPort, method, question, func() proto.Message { return M(new(A)) }, func(m proto.Message) error {
		if got != nil {
			return errors.New("the node answered twice")
		}
		got = m.(M)
		return nil
	})
	if err == nil && got == nil {
		err = errors.New("the node did not answer")
	}
	return got, err
}

// Refusal is an error that a node has answered with.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

// plain removes grpc's words from an error.
func plain(err error) error {
	s, ok := status.FromError(err)
	switch {
	case !ok:
		return err
	case s.Code() == codes.FailedPrecondition || s.Code() == codes.InvalidArgument || s.Code() == codes.Unimplemented:
		return &Refusal{s.Message()}
	}
	text := s.Message()
	if _, rest, ok := strings.Cut(text, "desc = "); ok { // of a connection that cannot be made
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			text, _ = strconv.Unquote(quoted) // it is quoted
		}
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "transport: "), "authentication handshake failed: ")
	if strings.HasPrefix(text, "error reading server preface: ") {
		text = "it closes the connection: it may use TLS, which this node does not (set cluster-tls-ca, cluster-tls-cert and cluster-tls-key), or it is not a node of a cluster"
	}
	return errors.New(text)
}
