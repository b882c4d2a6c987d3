package identity

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// maxFile is the largest file that is read, in bytes: hundreds of certificates.
const maxFile = 1 << 20

// material is what the files had when they were read. It does not change.
type material struct {
	stamps  stamps
	caFile  string
	cluster string
	roots   *x509.CertPool
	cert    *tls.Certificate
	expires time.Time // the first of the chain to expire
}

// read reads the files and checks them as a peer will.
func read(files Files, cluster string, now time.Time) (*material, error) {
	if files.CA == "" || files.Cert == "" || files.Key == "" {
		return nil, errors.New("set all of cluster-tls-ca, cluster-tls-cert and cluster-tls-key, or none")
	}
	if err := CheckName(cluster); err != nil {
		return nil, fmt.Errorf("cluster-name: %w", err)
	}
	// Stamps first: if a file changes after that, the next look sees it.
	m := &material{stamps: stampsOf(files), caFile: files.CA, cluster: cluster, roots: x509.NewCertPool()}
	authorities, err := readCertificates(files.CA)
	if err != nil {
		return nil, about("cluster-tls-ca", err)
	}
	for _, ca := range authorities {
		if !ca.IsCA {
			return nil, fmt.Errorf("cluster-tls-ca: %s has the certificate %.80q, which does not belong to a CA; give the file with the CA's certificate only", files.CA, ca.Subject.CommonName)
		}
		m.roots.AddCert(ca)
	}
	chain, err := readCertificates(files.Cert)
	if err != nil {
		return nil, about("cluster-tls-cert", err)
	}
	key, err := readKey(files.Key)
	if err != nil {
		return nil, about("cluster-tls-key", err)
	}
	if !belong(key, chain[0]) {
		return nil, fmt.Errorf("cluster-tls-key: %s is not the key of the first certificate in cluster-tls-cert %s; give the two files that were made together", files.Key, files.Cert)
	}
	// A node is a server for some peers and a client for others.
	for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if m.expires, err = m.verify("the certificate "+files.Cert, chain, use, now); err != nil {
			return nil, about("cluster-tls-cert", err)
		}
	}
	m.cert = &tls.Certificate{PrivateKey: key, Leaf: chain[0]}
	for _, c := range chain {
		m.cert.Certificate = append(m.cert.Certificate, c.Raw)
	}
	return m, nil
}

// about names the setting of a file that cannot be read.
func about(setting string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w; give the path of the file, or make it with `troupe cluster certs`", setting, err)
	}
	return fmt.Errorf("%s: %w", setting, err)
}

// readCertificates returns all certificates of a file, at least one.
func readCertificates(file string) (found []*x509.Certificate, err error) {
	blocks, err := readPEM(file)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		if b.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s has a damaged certificate: %w; copy the file again", file, err)
		}
		found = append(found, c)
	}
	if found == nil {
		return nil, fmt.Errorf("%s has no certificate; give a PEM file with a part BEGIN CERTIFICATE", file)
	}
	return found, nil
}

// readKey returns the first private key of a file.
func readKey(file string) (crypto.Signer, error) {
	blocks, err := readPEM(file)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		switch {
		case b.Type == "ENCRYPTED PRIVATE KEY" || b.Headers["DEK-Info"] != "":
			return nil, fmt.Errorf("%s is encrypted; decrypt it, for example with openssl pkey -in %[1]s -out FILE", file)
		case b.Type == "PRIVATE KEY" || strings.HasSuffix(b.Type, " PRIVATE KEY"):
			return parseKey(file, b.Bytes)
		}
	}
	return nil, fmt.Errorf("%s has no private key; give a PEM file with a part BEGIN PRIVATE KEY", file)
}

// parseKey reads the three forms in which tools write keys.
func parseKey(file string, der []byte) (crypto.Signer, error) {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		if ec, other := x509.ParseECPrivateKey(der); other == nil {
			return ec, nil
		}
		if rsa, other := x509.ParsePKCS1PrivateKey(der); other == nil {
			return rsa, nil
		}
		return nil, fmt.Errorf("%s has a damaged key: %w; copy the file again", file, err)
	}
	if signer, ok := key.(crypto.Signer); ok {
		return signer, nil
	}
	return nil, fmt.Errorf("%s has a key that cannot sign (%T); use an ECDSA, Ed25519 or RSA key", file, key)
}

// readPEM returns the parts of a file. A file that ends within a part is an error:
// otherwise a CA could be missing without notice.
func readPEM(file string) (blocks []*pem.Block, err error) {
	text, err := readFile(file)
	if err != nil {
		// The name of the file is in the text already.
		if inner, ok := errors.AsType[*fs.PathError](err); ok {
			err = inner.Err
		}
		return nil, fmt.Errorf("cannot open %s: %w", file, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s has more than %d KiB; give a PEM file with certificates or a key", file, maxFile>>10)
	}
	for {
		b, rest := pem.Decode(text)
		if b == nil {
			break
		}
		blocks, text = append(blocks, b), rest
	}
	switch {
	case bytes.Contains(text, []byte("-----BEGIN ")):
		return nil, fmt.Errorf("%s is damaged or incomplete; copy the file again", file)
	case blocks == nil:
		return nil, fmt.Errorf("%s is not a PEM file; give a text file with lines such as -----BEGIN CERTIFICATE-----", file)
	}
	return blocks, nil
}

// readFile reads a little more than maxFile at most: the path may be anything.
func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// belong reports whether a certificate is for a key.
func belong(key crypto.Signer, c *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}
