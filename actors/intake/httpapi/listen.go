package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rs/zerolog"
)

// errorLog receives net/http's lines about broken connections and handshakes. They may
// quote what a client sent, so only known parts of them are logged.
type errorLog struct{ log, accepting zerolog.Logger }

func (l errorLog) Write(p []byte) (int, error) {
	if why, ok := strings.CutPrefix(string(p), "http: Accept error: "); ok { // has the server's address only
		l.accepting.Warn().Str("cause", strings.TrimSpace(why)).
			Msg("new connections wait, because the server cannot accept them; if too many files are open, raise the limit (ulimit -n)")
		return len(p), nil
	}
	cause := "unknown error; its text is left out, because it may contain data of a client"
	if i := slices.IndexFunc(connectionFaults, func(known string) bool { return strings.Contains(string(p), known) }); i >= 0 {
		cause = connectionFaults[i]
	}
	l.log.Debug().Str("cause", cause).Msg("a connection failed")
	return len(p), nil
}

// connectionFaults are parts of net/http's and crypto/tls' lines, specific ones first.
var connectionFaults = []string{
	"client sent an HTTP request to an HTTPS server", "first record does not look like a TLS handshake",
	"client offered only unsupported versions", "client requested unsupported application protocols", "no cipher suite supported",
	"remote error: tls: unknown certificate authority", "remote error: tls: bad certificate", "remote error: tls:",
	"i/o timeout", "connection reset by peer", "broken pipe", "error reading preface", "TLS handshake error", "EOF",
}

// Listen opens the address of the options and checks the certificate. It is called
// before a model is loaded, so that errors show early.
func Listen(o Options) (net.Listener, error) {
	switch {
	case slices.Contains(o.APIKeys, ""):
		return nil, errors.New("api-key has an empty key, which would open the server to everyone; remove it, or give a key")
	case (o.TLSCert == "") != (o.TLSKey == ""):
		return nil, errors.New("set both tls-cert and tls-key, or neither")
	case o.TLSCert != "":
		if _, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey); err != nil {
			return nil, fmt.Errorf("cannot load tls-cert %s and tls-key %s: %w; both must be PEM files, and the key must belong to the certificate", o.TLSCert, o.TLSKey, err)
		}
	}
	return ListenTCP(net.JoinHostPort(o.Host, strconv.Itoa(o.Port)))
}

// ListenTCP opens an address; its errors say what to do. An IPv4 address opens IPv4 only:
// with "tcp", Go opens IPv6 as well for 0.0.0.0.
func ListenTCP(address string) (net.Listener, error) {
	network := "tcp"
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Is4() {
		network = "tcp4"
	}
	l, err := net.Listen(network, address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: %w; stop the program that uses the address, or choose another port (port 0: any free port)", address, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("cannot listen on %s: %w; choose a port above 1023", address, err)
	}
	return nil, fmt.Errorf("cannot listen on %s: %w; check host and port", address, err)
}

// URL is where clients reach the listener.
func (s *Server) URL(l net.Listener) string {
	if s.Options.TLSCert != "" {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// Serve answers on a listener, over TLS if the options say so, until Shutdown; then it returns nil.
func (s *Server) Serve(l net.Listener) error {
	s.rules.Load().hosts.listens(l.Addr())
	var err error
	if s.Options.TLSCert != "" {
		err = s.http.ServeTLS(l, s.Options.TLSCert, s.Options.TLSKey)
	} else {
		err = s.http.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown stops listening and waits until the calls under way are answered.
// When ctx ends first, it closes their connections.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.http.Close()
	}
	return err
}
