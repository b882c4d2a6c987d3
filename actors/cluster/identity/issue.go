package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
)

// authority returns the CA of the directory, after making it if there is none.
func (m *maker) authority() (*x509.Certificate, crypto.Signer, error) {
	certFile, keyFile := FilesOf(m.dir, "").CA, filepath.Join(m.dir, "ca-key.pem")
	_, certErr := os.Lstat(certFile)
	_, keyErr := os.Lstat(keyFile)
	if certErr == nil && errors.Is(keyErr, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s exists, but its key %s does not; put the key there, or use an empty directory for a new CA", certFile, keyFile)
	}
	key, err := m.key(keyFile)
	if err != nil {
		return nil, nil, err
	}
	if errors.Is(certErr, fs.ErrNotExist) {
		template := &x509.Certificate{
			Subject:   pkix.Name{CommonName: "Troupe CA of cluster " + m.cluster},
			NotBefore: m.now.Add(-backdated), NotAfter: m.now.Add(MaxValidity),
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
			IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true,
		}
		// If another program has made the CA in the meantime, it is used.
		if err := m.certificate(certFile, template, template, key.Public(), key, false); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, nil, err
		}
	}
	certs, err := readCertificates(certFile)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(certs, func(c *x509.Certificate) bool { return c.IsCA && belong(key, c) })
	if at < 0 {
		return nil, nil, fmt.Errorf("%s is not the key of a CA in %s; restore the files that were made together, or use an empty directory for a new CA", keyFile, certFile)
	}
	return certs[at], key, nil
}

// node makes the certificate of a node, with its key if it has one.
func (m *maker) node(node string, ca *x509.Certificate, caKey crypto.Signer) error {
	files := FilesOf(m.dir, node)
	key, err := m.key(files.Key)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: node},
		NotBefore: m.now.Add(-backdated), NotAfter: m.now.Add(m.o.Validity),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{DNSName(m.cluster)},
	}
	for _, host := range m.o.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return m.certificate(files.Cert, template, ca, key.Public(), caKey, m.o.Force)
}

// key returns the key of a file, after making it if there is none.
func (m *maker) key(file string) (crypto.Signer, error) {
	key, err := readKey(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	fresh, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(fresh)
	if err != nil {
		return nil, err
	}
	err = write(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), false)
	if errors.Is(err, fs.ErrExist) { // another program has made it in the meantime
		return readKey(file)
	}
	if err != nil {
		return nil, err
	}
	m.wrote = append(m.wrote, Written{Path: file})
	return fresh, nil
}

func (m *maker) certificate(file string, template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer, replace bool) error {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return fmt.Errorf("cannot make the certificate %s: %w", file, err)
	}
	err = write(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), replace)
	if err == nil {
		m.wrote = append(m.wrote, Written{file, template.NotAfter})
	}
	return err
}
