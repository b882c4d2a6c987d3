package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// verify checks a certificate, the first of a chain, and returns when the first of
// the chain expires. what begins the errors.
func (m *material) verify(what string, chain []*x509.Certificate, use x509.ExtKeyUsage, now time.Time) (expires time.Time, err error) {
	leaf := chain[0]
	switch {
	case now.After(leaf.NotAfter):
		return expires, fmt.Errorf("%s expired on %s; renew it with `troupe cluster certs --force`", what, date(leaf.NotAfter))
	case now.Before(leaf.NotBefore):
		return expires, fmt.Errorf("%s is not valid before %s; check the clocks of both machines", what, date(leaf.NotBefore))
	}
	intermediates := x509.NewCertPool()
	for _, c := range chain[1:] {
		intermediates.AddCert(c)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{Roots: m.roots, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{use}})
	if err != nil {
		return expires, m.chainError(what, err)
	}
	// Exact names only: a certificate for *.troupe.internal would be of every cluster.
	if !slices.Contains(leaf.DNSNames, DNSName(m.cluster)) {
		return expires, m.clusterError(what, leaf)
	}
	for _, chain := range chains {
		if end := firstEnd(chain); end.After(expires) {
			expires = end
		}
	}
	return expires, nil
}

// firstEnd is when the first certificate of a chain expires.
func firstEnd(chain []*x509.Certificate) time.Time {
	first := slices.MinFunc(chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	return first.NotAfter
}

func (m *material) chainError(what string, err error) error {
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		return fmt.Errorf("%s is not signed by the CA in %s; all nodes of a cluster need certificates of the same CA", what, m.caFile)
	}
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case ok && invalid.Reason == x509.Expired:
		return fmt.Errorf("%s was signed by the CA %.80q, which is only valid from %s to %s; make a new CA with `troupe cluster certs` in an empty directory",
			what, invalid.Cert.Subject.CommonName, date(invalid.Cert.NotBefore), date(invalid.Cert.NotAfter))
	case ok && invalid.Reason == x509.IncompatibleUsage:
		return fmt.Errorf("%s is not for both servers and clients; it needs the extended key usages serverAuth and clientAuth", what)
	}
	return fmt.Errorf("%s cannot be checked with the CA in %s: %w; make it again with `troupe cluster certs`", what, m.caFile, err)
}

func (m *material) clusterError(what string, c *x509.Certificate) error {
	var others []string
	for _, name := range c.DNSNames {
		if cluster, ok := strings.CutSuffix(name, suffix); ok {
			others = append(others, fmt.Sprintf("%.80q", cluster))
		}
	}
	if others == nil {
		return fmt.Errorf("%s does not name a cluster; for cluster %q it needs the DNS name %s", what, m.cluster, DNSName(m.cluster))
	}
	return fmt.Errorf("%s is for cluster %.300s, but this node belongs to cluster %q; use the certificates of one cluster and the same cluster-name on all its nodes",
		what, strings.Join(others, ", "), m.cluster)
}

// date is a time for people, in UTC as in certificates.
func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
