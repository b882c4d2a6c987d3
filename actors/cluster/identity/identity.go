// Package identity has the certificates with which the nodes of a cluster know
// each other, and makes them.
//
// A certificate names the cluster, as the DNS name CLUSTER.troupe.internal. Host
// names and addresses are not checked: nodes find each other by address, and an
// address changes with every restart of a container. Both ends of a connection
// show a certificate, and both check it: signed by the CA, valid now, made for
// this use, of this cluster. docs/decisions/0029-cluster-identity.md has the
// reasons.
//
// # Parts
//
//	identity, name, handshake   the identity of this node; names of clusters; the configurations for TLS
//	load, verify, renew         read the files, check a certificate, take renewed files into use
//	grpc                        the same for gRPC, with errors that say what to do
//	create, issue, write        make a CA and certificates
package identity

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Files are the paths of PEM files: the certificates of one or more CAs, the
// certificate of this node (and intermediate ones after it), and its private key.
type Files struct{ CA, Cert, Key string }

// Identity is the certificate of this node, with what it expects of others. Its
// methods may be called from any goroutine. The zero value cannot be used; see Load.
type Identity struct {
	files   Files
	cluster string
	notices Notices
	now     func() time.Time
	used    atomic.Pointer[material]

	// renewing guards the fields below it. Nobody waits for it.
	renewing sync.Mutex
	looked   time.Time // when the files were last looked at
	warned   time.Time // when Expiring or Expired was last called; zero: never
	failing  failing
}

// Notices are called when something happens that a log should have. They run on the
// goroutine of a handshake or of Look and must not block. Any of them may be nil.
type Notices struct {
	// Renewed: renewed files are in use now. expires is as in Expires.
	Renewed func(expires time.Time)
	// NotRenewed: the files have changed and cannot be used. The previous ones stay in
	// use. It is called once for each change.
	NotRenewed func(error)
	// Expiring: the certificate in use expires in less than 7 days. Expired: it has
	// expired. Each is called at most once a day.
	Expiring, Expired func(expires time.Time)
	// Refused: Credentials has refused a client, or a client has refused this node. A
	// client that tries again and again causes a call each time.
	Refused func(peer net.Addr, err error)
}

// Load reads the files and checks everything that a peer will check. Its errors name
// the settings cluster-tls-ca, cluster-tls-cert and cluster-tls-key, or cluster-name.
func Load(files Files, clusterName string) (*Identity, error) {
	return load(files, clusterName, time.Now)
}

func load(files Files, clusterName string, now func() time.Time) (*Identity, error) {
	m, err := read(files, clusterName, now())
	if err != nil {
		return nil, err
	}
	id := &Identity{files: files, cluster: clusterName, now: now, looked: now()}
	id.used.Store(m)
	return id, nil
}

// Notify sets who hears of renewals and refusals. It must be called before the first
// handshake.
func (id *Identity) Notify(n Notices) { id.notices = n }

// Expires returns when the certificate in use, or a CA above it, expires.
func (id *Identity) Expires() time.Time { return id.used.Load().expires }
