package identity

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// MaxValidity is how long a new CA is valid. A certificate cannot be valid longer.
	MaxValidity = 3650 * 24 * time.Hour
	// DefaultValidity is that of a node's certificate.
	DefaultValidity = 365 * 24 * time.Hour

	// backdated makes a certificate valid on machines whose clocks are behind.
	backdated = time.Hour
)

// CreateOptions of Create. The zero value is usable.
type CreateOptions struct {
	// Validity of a node's certificate, at least an hour and at most MaxValidity. 0:
	// DefaultValidity.
	Validity time.Duration
	// Hosts are host names and IP addresses that the certificates have beside the
	// cluster's name. Nodes do not check them; HTTPS clients do, if the certificate is
	// used for the API too.
	Hosts []string
	// Force replaces certificates of nodes. It never replaces a key or a CA.
	Force bool
}

// Written is a file that Create has written. Expires is zero for a key.
type Written struct {
	Path    string
	Expires time.Time
}

// FilesOf returns the paths that Create uses for a node.
func FilesOf(dir, node string) Files {
	return Files{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, node+".pem"), Key: filepath.Join(dir, node+"-key.pem")}
}

// Create makes certificates for nodes of a cluster, and before that the directory
// and a CA if there are none. It returns what it wrote, also with an error.
//
// Names and existing files are checked before anything is written. Each file is
// written whole or not at all, keys before their certificates; if Create is
// interrupted, the next call goes on with the keys that are there.
func Create(dir, clusterName string, nodes []string, o CreateOptions) ([]Written, error) {
	if o.Validity == 0 {
		o.Validity = DefaultValidity
	}
	m := &maker{dir: dir, cluster: clusterName, now: time.Now().Truncate(time.Second), o: o} // certificates have whole seconds
	err := m.check(nodes)
	if err == nil {
		err = m.make(nodes)
	}
	return m.wrote, err
}

type maker struct {
	dir, cluster string
	now          time.Time
	o            CreateOptions
	wrote        []Written
}

// check refuses what cannot be done, without writing.
func (m *maker) check(nodes []string) error {
	if err := CheckName(m.cluster); err != nil {
		return err
	}
	if m.o.Validity < time.Hour || m.o.Validity > MaxValidity {
		return fmt.Errorf("the validity is %s; it must be between %s and %s", m.o.Validity, time.Hour, MaxValidity)
	}
	for _, host := range m.o.Hosts {
		if net.ParseIP(host) == nil && !consistsOf(host, lower+upper+digits, "-.") {
			return fmt.Errorf("%.80q is not a host name or IP address; give it without port and scheme", host)
		}
		if strings.HasSuffix(strings.ToLower(host), suffix) {
			return fmt.Errorf("%s is the name of a cluster; give the names of hosts only", host)
		}
	}
	for i, node := range nodes {
		if err := CheckNode(node); err != nil {
			return err
		}
		if slices.Contains(nodes[:i], node) {
			return fmt.Errorf("node %s is given twice; remove one", node)
		}
		if _, err := os.Lstat(FilesOf(m.dir, node).Cert); err == nil && !m.o.Force {
			return cannotWrite(FilesOf(m.dir, node).Cert, fs.ErrExist)
		}
	}
	return nil
}

func (m *maker) make(nodes []string) error {
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the directory: %w", err)
	}
	ca, caKey, err := m.authority()
	if err != nil {
		return err
	}
	if end := m.now.Add(m.o.Validity); end.After(ca.NotAfter) {
		return fmt.Errorf("the CA %s expires on %s, and the certificates would be valid until %s; make them valid for a shorter time, or make a new CA in an empty directory",
			FilesOf(m.dir, "").CA, date(ca.NotAfter), date(end))
	}
	for _, node := range nodes {
		if err := m.node(node, ca, caKey); err != nil {
			return err
		}
	}
	return nil
}
