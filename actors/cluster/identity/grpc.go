package identity

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"google.golang.org/grpc/credentials"
)

// Credentials returns Server and Client for gRPC, with errors that say what to do. A
// server's refusals go to Notices.Refused as well: gRPC only logs them.
func (id *Identity) Credentials() credentials.TransportCredentials {
	return &transport{id, credentials.NewTLS(id.Client())}
}

type transport struct {
	id     *Identity
	client credentials.TransportCredentials
}

func (t *transport) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := t.client.ClientHandshake(ctx, authority, raw)
	return conn, info, t.id.explain(err, "")
}

func (t *transport) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	var asked string // the name that the client asks for
	config := t.id.Server()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		asked = hello.ServerName
		return nil, nil
	}
	conn, info, err := credentials.NewTLS(config).ServerHandshake(raw)
	err = t.id.explain(err, asked)
	// A connection that only opens and closes is a probe, and nobody was refused.
	if f := t.id.notices.Refused; f != nil && err != nil && err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
		f(raw.RemoteAddr(), err)
	}
	return conn, info, err
}

func (t *transport) Info() credentials.ProtocolInfo { return t.client.Info() }

// Clone returns t, which does not change.
func (t *transport) Clone() credentials.TransportCredentials { return t }

// OverrideServerName is deprecated in gRPC, and would check nothing here.
func (t *transport) OverrideServerName(string) error {
	return errors.New("the name in a cluster's certificates is that of the cluster and cannot be overridden")
}

// explain adds to the error of a handshake what to do. asked is the name that a client
// asked for, if this node is the server.
func (id *Identity) explain(err error, asked string) error {
	if errors.As(err, new(tls.RecordHeaderError)) {
		return fmt.Errorf("the peer does not use TLS: %w; set cluster-tls-ca, cluster-tls-cert and cluster-tls-key on all nodes", err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" { // an alert
		if cluster, ok := strings.CutSuffix(asked, suffix); ok && cluster != id.cluster {
			return fmt.Errorf("the peer looks for cluster %.80q, but this node belongs to cluster %q: %w; check cluster-name and the addresses of peers on both", cluster, id.cluster, err)
		}
		return fmt.Errorf("the peer refused this node's certificate: %w; its own error says why, for example another CA", err)
	}
	return err
}
