package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// made is a directory with a CA and certificates.
func made(t *testing.T, cluster string, nodes ...string) string {
	t.Helper()
	dir := t.TempDir()
	create(t, dir, cluster, CreateOptions{}, nodes...)
	return dir
}

func create(t *testing.T, dir, cluster string, o CreateOptions, nodes ...string) []Written {
	t.Helper()
	wrote, err := Create(dir, cluster, nodes, o)
	if err != nil {
		t.Fatal(err)
	}
	return wrote
}

func mustLoad(t *testing.T, files Files, cluster string) *Identity {
	t.Helper()
	id, err := Load(files, cluster)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// mint writes a certificate and key that Create would not make, signed by the CA of
// the directory, or by itself if sign is false.
func mint(t *testing.T, dir, node string, sign bool, change func(*x509.Certificate)) (Files, tls.Certificate) {
	t.Helper()
	files := FilesOf(dir, node)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		Subject:   pkix.Name{CommonName: node},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		DNSNames:    []string{"prod.troupe.internal"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	change(c)
	parent, signer := c, any(key)
	if sign {
		certs, err := readCertificates(files.CA)
		if err != nil {
			t.Fatal(err)
		}
		caKey, err := readKey(filepath.Join(dir, "ca-key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		parent, signer = certs[0], caKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key) // as openssl writes it
	if err != nil {
		t.Fatal(err)
	}
	put(t, files.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	put(t, files.Key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}))
	return files, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func put(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// clock is a clock that tests move. Its zero value shows the present.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }
