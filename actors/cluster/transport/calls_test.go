package transport

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Operators read what went wrong, not how grpc wraps it.
func TestErrorsOfCallsArePlain(t *testing.T) {
	const wrapped = `connection error: desc = "transport: `
	for _, test := range []struct {
		err     error
		text    string
		refusal bool
	}{
		{errors.New("an error of ours"), "an error of ours", false},
		{status.Error(codes.FailedPrecondition, "other weights"), "other weights", true},
		{status.Error(codes.Unavailable, "the stream has ended"), "the stream has ended", false},
		{status.Error(codes.Unavailable, wrapped+`Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`),
			"Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused", false},
		{status.Error(codes.Unavailable, wrapped+`authentication handshake failed: the peer's certificate (\"g1\") is for cluster \"prod\""`),
			`the peer's certificate ("g1") is for cluster "prod"`, false},
		{status.Error(codes.Unavailable, wrapped+`error reading server preface: EOF"`),
			"it closes the connection: it may use TLS, which this node does not (set cluster-tls-ca, cluster-tls-cert and cluster-tls-key), or it is not a node of a cluster", false},
	} {
		got := plain(test.err)
		if got.Error() != test.text || errors.As(got, new(*Refusal)) != test.refusal {
			t.Errorf("%v: %q (%T)", test.err, got, got)
		}
	}
}
