package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// Server returns a new configuration for accepting connections: TLS 1.3 only, and
// clients must show a certificate of the cluster.
func (id *Identity) Server() *tls.Config {
	c := id.both(x509.ExtKeyUsageClientAuth)
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return id.current().cert, nil }
	c.ClientAuth = tls.RequireAnyClientCert // VerifyConnection checks it
	c.SessionTicketsDisabled = true         // a session that goes on would keep a certificate from before
	return c
}

// Client returns a new configuration for opening connections, the counterpart of
// Server.
func (id *Identity) Client() *tls.Config {
	c := id.both(x509.ExtKeyUsageServerAuth)
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		m := id.current()
		// The server would refuse it after this end has finished the handshake, where the
		// error is only the end of the connection.
		if id.now().After(m.expires) {
			return nil, fmt.Errorf("this node's certificate %s expired on %s; renew it with `troupe cluster certs --force`", id.files.Cert, date(m.expires))
		}
		return m.cert, nil
	}
	// crypto/tls would check the certificate with the CAs of this configuration, which
	// cannot change. VerifyConnection checks it instead, with those in use.
	c.InsecureSkipVerify = true
	c.ServerName = DNSName(id.cluster) // tells the server which cluster is meant
	return c
}

// both is what both ends have. peer is the use that a peer's certificate must allow.
func (id *Identity) both(peer x509.ExtKeyUsage) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2"},
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("the peer has no certificate; set cluster-tls-cert and cluster-tls-key there")
			}
			what := fmt.Sprintf("the peer's certificate (%.80q)", s.PeerCertificates[0].Subject.CommonName)
			_, err := id.current().verify(what, s.PeerCertificates, peer, id.now())
			return err
		},
	}
}
