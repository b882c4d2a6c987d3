package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// serve runs a gRPC server that answers every call with the serial number of the
// client's certificate, until the test ends.
func serve(t *testing.T, creds credentials.TransportCredentials) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(creds), grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		if err := s.RecvMsg(&wrapperspb.StringValue{}); err != nil {
			return err
		}
		from, _ := peer.FromContext(s.Context())
		return s.SendMsg(wrapperspb.String(serial(from.AuthInfo)))
	}))
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); running.Wait() })
	return listener.Addr().String()
}

// serial is the number of the peer's certificate; "" without TLS.
func serial(info credentials.AuthInfo) string {
	if of, ok := info.(credentials.TLSInfo); ok {
		return of.State.PeerCertificates[0].SerialNumber.String()
	}
	return ""
}

func connect(t *testing.T, address string, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// call makes one call and returns the serial numbers of both certificates.
func call(t *testing.T, conn *grpc.ClientConn) (client, server string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answer, from := &wrapperspb.StringValue{}, &peer.Peer{}
	if err = conn.Invoke(ctx, "/troupe.Test/Ask", wrapperspb.String("?"), answer, grpc.Peer(from)); err != nil {
		return "", "", err
	}
	return answer.Value, serial(from.AuthInfo), nil
}

// plain is the text of an error without gRPC's escapes.
func plain(err error) string { return strings.ReplaceAll(err.Error(), `\"`, `"`) }

func number(t *testing.T, file string) string {
	t.Helper()
	certs, err := readCertificates(file)
	if err != nil {
		t.Fatal(err)
	}
	return certs[0].SerialNumber.String()
}

// Two nodes with certificates of one CA talk, with the configurations alone and with
// Credentials.
func TestNodesOfAClusterTalk(t *testing.T) {
	dir := made(t, "prod", "gw1", "engine1")
	gateway, engine := mustLoad(t, FilesOf(dir, "gw1"), "prod"), mustLoad(t, FilesOf(dir, "engine1"), "prod")
	for name, c := range map[string]struct {
		server, client credentials.TransportCredentials
	}{
		"credentials":    {engine.Credentials(), gateway.Credentials().Clone()},
		"configurations": {credentials.NewTLS(engine.Server()), credentials.NewTLS(gateway.Client())},
	} {
		t.Run(name, func(t *testing.T) {
			client, server, err := call(t, connect(t, serve(t, c.server), c.client))
			if err != nil || client != number(t, FilesOf(dir, "gw1").Cert) || server != number(t, FilesOf(dir, "engine1").Cert) {
				t.Errorf("client %s, server %s: %v", client, server, err)
			}
		})
	}
}

// refusals are errors that a server reported.
type refusals chan error

func (r refusals) next(t *testing.T) string {
	t.Helper()
	select {
	case err := <-r:
		return err.Error()
	case <-time.After(20 * time.Second):
		t.Fatal("the server reported nothing")
		return ""
	}
}

// careless is a client that trusts every server and shows this certificate, if any.
func careless(change func(*tls.Config), certs ...tls.Certificate) credentials.TransportCredentials {
	c := &tls.Config{InsecureSkipVerify: true, Certificates: certs}
	if change != nil {
		change(c)
	}
	return credentials.NewTLS(c)
}

// A server refuses each of these clients and says why; then it serves a good one.
func TestAServerRefuses(t *testing.T) {
	dir, foreign := made(t, "prod", "gw1", "engine1"), made(t, "prod", "gw1")
	create(t, dir, "test", CreateOptions{}, "tester")
	minted := func(dir string, sign bool, change func(*x509.Certificate)) credentials.TransportCredentials {
		_, cert := mint(t, dir, "intruder", sign, change)
		return careless(nil, cert)
	}
	refused := make(refusals, 100)
	server := mustLoad(t, FilesOf(dir, "engine1"), "prod")
	server.Notify(Notices{Refused: func(from net.Addr, err error) {
		if from.Network() != "tcp" {
			t.Errorf("refused %v", from)
		}
		refused <- err
	}})
	address := serve(t, server.Credentials())
	good := mustLoad(t, FilesOf(dir, "gw1"), "prod").Credentials()

	for name, c := range map[string]struct {
		creds credentials.TransportCredentials
		// Parts of their errors. A client that trusts the server is done with the handshake
		// before it is refused, so its error depends on what it does next.
		server, client string
	}{
		"plaintext": {insecure.NewCredentials(), "the peer does not use TLS: tls: first record does not look like a TLS handshake; set cluster-tls-ca", ""},
		"TLS 1.2": {careless(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), "client offered only unsupported versions",
			"protocol version not supported"},
		"no certificate": {careless(nil), "client didn't provide a certificate", ""},
		"other CA": {minted(foreign, true, func(*x509.Certificate) {}),
			`the peer's certificate ("intruder") is not signed by the CA in ` + server.files.CA, ""},
		"self-signed": {minted(dir, false, func(*x509.Certificate) {}), "is not signed by the CA", ""},
		"other cluster": {minted(dir, true, func(c *x509.Certificate) { c.DNSNames = []string{"test.troupe.internal"} }),
			`the peer's certificate ("intruder") is for cluster "test", but this node belongs to cluster "prod"`, ""},
		"no cluster": {minted(dir, true, func(c *x509.Certificate) { c.DNSNames = nil }), "does not name a cluster", ""},
		"expired": {minted(dir, true, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
			`the peer's certificate ("intruder") expired on 20`, ""},
		"not valid yet": {minted(dir, true, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }),
			`the peer's certificate ("intruder") is not valid before 20`, ""},
		"for servers only": {minted(dir, true, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }),
			"is not for both servers and clients", ""},
		// These refuse the server before it sees their certificate.
		"a node of another CA": {mustLoad(t, FilesOf(foreign, "gw1"), "prod").Credentials(),
			"the peer refused this node's certificate: remote error: tls: bad certificate", `the peer's certificate ("engine1") is not signed by the CA in`},
		"a node of another cluster": {mustLoad(t, FilesOf(dir, "tester"), "test").Credentials(),
			`the peer looks for cluster "test", but this node belongs to cluster "prod"`, `is for cluster "prod", but this node belongs to cluster "test"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := call(t, connect(t, address, c.creds))
			if err == nil || !strings.Contains(plain(err), c.client) {
				t.Errorf("the client's error is %v, want %s", err, c.client)
			}
			if text := refused.next(t); !strings.Contains(text, c.server) {
				t.Errorf("the server's error is %s, want %s", text, c.server)
			}
		})
		if _, _, err := call(t, connect(t, address, good)); err != nil {
			t.Fatalf("after %s: %v", name, err)
		}
	}
}

// A node refuses each of these servers.
func TestAClientRefuses(t *testing.T) {
	dir, foreign := made(t, "prod", "gw1"), made(t, "prod", "engine1")
	minted := func(dir string, sign bool, change func(*x509.Certificate)) credentials.TransportCredentials {
		_, cert := mint(t, dir, "intruder", sign, change)
		return careless(nil, cert)
	}
	client := mustLoad(t, FilesOf(dir, "gw1"), "prod").Credentials()
	for name, c := range map[string]struct {
		creds credentials.TransportCredentials
		want  string
	}{
		"plaintext":   {insecure.NewCredentials(), "the peer does not use TLS"},
		"TLS 1.2":     {careless(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, pair(mint(t, dir, "old", true, func(*x509.Certificate) {}))), "protocol version not supported"},
		"other CA":    {mustLoad(t, FilesOf(foreign, "engine1"), "prod").Credentials(), `the peer's certificate ("engine1") is not signed by the CA in`},
		"self-signed": {minted(dir, false, func(*x509.Certificate) {}), "is not signed by the CA"},
		"other cluster": {minted(dir, true, func(c *x509.Certificate) { c.DNSNames = []string{"test.troupe.internal"} }),
			`is for cluster "test", but this node belongs to cluster "prod"`},
		"expired":          {minted(dir, true, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "expired on 20"},
		"not valid yet":    {minted(dir, true, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }), "is not valid before 20"},
		"for clients only": {minted(dir, true, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }), "is not for both servers and clients"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := call(t, connect(t, serve(t, c.creds), client)); err == nil || !strings.Contains(plain(err), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func pair(_ Files, cert tls.Certificate) tls.Certificate { return cert }

// Connections that only open and close are probes, and are not reported.
func TestProbesAreNotRefusals(t *testing.T) {
	dir := made(t, "prod", "gw1")
	id := mustLoad(t, FilesOf(dir, "gw1"), "prod")
	refused := make(refusals, 100)
	id.Notify(Notices{Refused: func(_ net.Addr, err error) { refused <- err }})
	address := serve(t, id.Credentials())
	probe := func(text string) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, conn) // until the server has closed
	}
	probe("")
	probe("GET / HTTP/1.1\r\n\r\n")
	if text := refused.next(t); !strings.Contains(text, "does not use TLS") {
		t.Errorf("the first report is %s", text)
	}
}

// Renewal while connections open: each handshake succeeds, before, during and after.
// Connections from before go on.
func TestRenewalUnderConnections(t *testing.T) {
	dir := made(t, "prod", "gw1", "engine1")
	server, client := watch(t, FilesOf(dir, "engine1"), "prod"), watch(t, FilesOf(dir, "gw1"), "prod")
	address := serve(t, server.Credentials())
	first := connect(t, address, client.Credentials())
	if _, _, err := call(t, first); err != nil {
		t.Fatal(err)
	}
	old := get(t, FilesOf(dir, "gw1").Cert)
	var all sync.WaitGroup
	defer all.Wait()
	for range 4 {
		all.Go(func() {
			for range 10 {
				server.at.advance(lookEvery)
				client.at.advance(lookEvery)
				conn := connect(t, address, client.Credentials())
				if _, _, err := call(t, conn); err != nil {
					t.Error(err)
				}
			}
		})
	}
	create(t, dir, "prod", CreateOptions{Force: true}, "gw1", "engine1")
	all.Wait()
	if bytes.Equal(old, get(t, FilesOf(dir, "gw1").Cert)) {
		t.Fatal("the certificate was not renewed")
	}
	server.at.advance(lookEvery)
	client.at.advance(lookEvery)
	for name, c := range map[string]struct {
		conn *grpc.ClientConn
		new  bool
	}{"the connection from before": {first, false}, "a new connection": {connect(t, address, client.Credentials()), true}} {
		gw, engine, err := call(t, c.conn)
		if err != nil || (gw == number(t, FilesOf(dir, "gw1").Cert)) != c.new || (engine == number(t, FilesOf(dir, "engine1").Cert)) != c.new {
			t.Errorf("%s: %s and %s: %v", name, gw, engine, err)
		}
	}
}

// A cluster moves to a new CA without a pause: first all nodes trust both, then they
// get certificates of the new one, then the old one goes.
func TestChangeOfTheCA(t *testing.T) {
	dir, fresh := made(t, "prod", "gw1", "engine1"), made(t, "prod", "gw1", "engine1")
	// Each node has files of its own.
	nodes := map[string]*watched{}
	files := map[string]Files{}
	for _, name := range []string{"gw1", "engine1"} {
		home := FilesOf(t.TempDir(), name)
		from := FilesOf(dir, name)
		put(t, home.CA, get(t, from.CA))
		put(t, home.Cert, get(t, from.Cert))
		put(t, home.Key, get(t, from.Key))
		files[name], nodes[name] = home, watch(t, home, "prod")
	}
	address := serve(t, nodes["engine1"].Credentials())
	talk := func(when string) {
		t.Helper()
		for name, n := range nodes {
			if said := n.look(); strings.Contains(said, "not") {
				t.Errorf("%s, %s says %s", when, name, said)
			}
		}
		if _, _, err := call(t, connect(t, address, nodes["gw1"].Credentials())); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	talk("before")
	oldCA, newCA := get(t, FilesOf(dir, "").CA), get(t, FilesOf(fresh, "").CA)
	for _, step := range []struct {
		name string
		do   func(name string, home Files)
	}{
		{"trusts both", func(_ string, home Files) { put(t, home.CA, append(bytes.Clone(oldCA), newCA...)) }},
		{"has a new certificate", func(name string, home Files) {
			put(t, home.Key, get(t, FilesOf(fresh, name).Key))
			put(t, home.Cert, get(t, FilesOf(fresh, name).Cert))
		}},
		{"trusts the new CA only", func(_ string, home Files) { put(t, home.CA, newCA) }},
	} {
		for name, home := range files {
			step.do(name, home)
			talk(name + " " + step.name)
		}
	}
	if _, _, err := call(t, connect(t, address, mustLoad(t, FilesOf(dir, "gw1"), "prod").Credentials())); err == nil {
		t.Error("a certificate of the old CA is still accepted")
	}
}

// A node whose certificate has expired says so itself, instead of the end of a
// connection that it gets from its peers.
func TestAnExpiredClientSaysSo(t *testing.T) {
	dir := made(t, "prod", "gw1")
	create(t, dir, "prod", CreateOptions{Validity: MaxValidity}, "engine1")
	address := serve(t, mustLoad(t, FilesOf(dir, "engine1"), "prod").Credentials())
	w := watch(t, FilesOf(dir, "gw1"), "prod")
	w.at.advance(DefaultValidity + time.Hour)
	if _, _, err := call(t, connect(t, address, w.Credentials())); err == nil || !strings.Contains(err.Error(), "this node's certificate "+FilesOf(dir, "gw1").Cert+" expired on 20") {
		t.Errorf("%v", err)
	}
}

// Whatever a peer sends in its certificate, the error is short and one line.
func TestErrorsOfHostileCertificates(t *testing.T) {
	dir := made(t, "prod", "gw1")
	m := mustLoad(t, FilesOf(dir, "gw1"), "prod")
	_, cert := mint(t, dir, "x", true, func(c *x509.Certificate) {
		c.Subject.CommonName = "a\x1b[2J\nb" + strings.Repeat("c", 10_000)
		c.DNSNames = []string{strings.Repeat("d.", 10_000) + "troupe.internal", strings.Repeat("e", 10_000) + ".troupe.internal"}
	})
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	err = m.Server().VerifyConnection(tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}})
	if err == nil || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("%q", err)
	}
	err = m.Server().VerifyConnection(tls.ConnectionState{})
	if err == nil || !strings.Contains(err.Error(), "the peer has no certificate") {
		t.Errorf("%v", err)
	}
}
