package clustertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options of a cluster.
type Options struct {
	Gateways, Engines int
	Args              []string // settings of all nodes, such as --cluster-peer-timeout 1s
	GatewayArgs       []string
	EngineArgs        []string
	// Proxied puts a proxy in front of every node with an odd number; All in front of all.
	Proxied, AllProxied bool
	// TLS gives every node a certificate of its own, made by the binary.
	TLS bool
	// Network puts every node into a network namespace of its own; nil: loopback.
	Network *Network
}

// Cluster is a running cluster.
type Cluster struct {
	Gateways, Engines []*Node
	t                 testing.TB
	opt               Options
	certificates      string // the directory; "" without
}

// Start starts a cluster and waits until every gateway has linked every engine.
func Start(t testing.TB, opt Options) *Cluster {
	t.Helper()
	c := &Cluster{t: t, opt: opt}
	dir := logDir(t)
	Binary(t) // before any process waits for another
	if opt.TLS {
		c.certify()
	}
	var join []string
	for i := range opt.Gateways {
		g := c.node(dir, "gateway", i, join, opt.GatewayArgs)
		g.Gateway = true
		join = append(join, g.advertised())
		c.Gateways = append(c.Gateways, g)
	}
	for i := range opt.Engines {
		c.Engines = append(c.Engines, c.node(dir, "engine", i, join, opt.EngineArgs))
	}
	t.Cleanup(c.stop)
	for _, n := range c.Nodes() {
		n.Start()
	}
	c.Settled()
	return c
}

// certify makes certificates for all nodes.
func (c *Cluster) certify() {
	c.t.Helper()
	c.certificates = c.t.TempDir()
	args := []string{"cluster", "certs", "--dir", c.certificates, "--cluster-name", "troupe"}
	for role, count := range map[string]int{"gateway": c.opt.Gateways, "engine": c.opt.Engines} {
		for i := range count {
			args = append(args, nodeName(role, i))
		}
	}
	if out, err := exec.Command(Binary(c.t), args...).CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
}

func nodeName(role string, i int) string { return fmt.Sprintf("%s-%d", role, i+1) }

// node describes a node.
func (c *Cluster) node(dir, role string, i int, join, args []string) *Node {
	name, host := nodeName(role, i), "127.0.0.1"
	var place *Place
	if c.opt.Network != nil {
		place = c.opt.Network.place(c.t, name)
		host = place.Address
	}
	listen := fmt.Sprintf("%s:%d", host, freePort(c.t, "127.0.0.1"))
	all := []string{"--cluster-role", role, "--node-name", name, "--cluster-listen", listen}
	if c.opt.Network != nil {
		all = append(all, "--cluster-insecure", "--allowed-hosts", host)
	}
	if c.certificates != "" {
		file := filepath.Join(c.certificates, name)
		all = append(all, "--cluster-tls-ca", filepath.Join(c.certificates, "ca.pem"), "--cluster-tls-cert", file+".pem", "--cluster-tls-key", file+"-key.pem")
	}
	n := &Node{}
	if c.opt.AllProxied || c.opt.Proxied && i%2 == 0 {
		at := "127.0.0.1"
		if c.opt.Network != nil {
			at = c.opt.Network.Address
		}
		n.Proxy = NewProxy(c.t, at, listen)
		all = append(all, "--cluster-advertise", n.Proxy.Address)
	}
	if len(join) > 0 {
		all = append(all, "--cluster-join", strings.Join(join, ","))
	}
	made := newNode(c.t, dir, name, host, append(append(all, c.opt.Args...), args...)...)
	made.Listen, made.Proxy, made.Place = listen, n.Proxy, place
	return made
}

// advertised is where other nodes reach the node.
func (n *Node) advertised() string {
	if n.Proxy != nil {
		return n.Proxy.Address
	}
	return n.Listen
}

// Single starts one process without a cluster and waits until it is ready.
func Single(t testing.TB, args ...string) *Node {
	t.Helper()
	n := newNode(t, logDir(t), "single", "127.0.0.1", args...)
	c := &Cluster{t: t, Engines: []*Node{n}}
	t.Cleanup(c.stop)
	n.Start()
	Eventually(t, "the process is ready", time.Minute, n.Ready)
	return n
}

// LogsVariable names a directory that keeps the logs of all processes.
const LogsVariable = "TROUPE_CLUSTER_LOGS"

func logDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(LogsVariable)
	if dir == "" {
		return t.TempDir()
	}
	dir = filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Nodes are all nodes, gateways first.
func (c *Cluster) Nodes() []*Node {
	return append(append([]*Node(nil), c.Gateways...), c.Engines...)
}

// Settled waits until every gateway has linked every engine.
func (c *Cluster) Settled() {
	c.t.Helper()
	for _, n := range c.Nodes() {
		Eventually(c.t, n.Name+" is ready", patience, n.Ready)
	}
	for _, g := range c.Gateways {
		Eventually(c.t, fmt.Sprintf("%s has %d engines", g.Name, len(c.Engines)), patience, func() bool { return g.Engines() == len(c.Engines) })
	}
}

// patience is how long something may take that usually takes less than a second.
const patience = time.Minute

// stop ends all processes, and shows their logs if the test has failed.
func (c *Cluster) stop() {
	var all sync.WaitGroup
	for _, n := range c.Nodes() {
		all.Go(n.end)
	}
	all.Wait()
	for _, n := range c.Nodes() {
		if n.Proxy != nil {
			n.Proxy.Close()
		}
		if faults := n.Faults(); len(faults) > 0 {
			_, from, _ := strings.Cut(n.Log(), faults[0])
			c.t.Errorf("the log of %s has %d faults, the first one: %s%.6000s", n.Name, len(faults), faults[0], from)
		}
	}
	if !c.t.Failed() {
		return
	}
	for _, n := range c.Nodes() {
		lines := strings.Split(strings.TrimSpace(n.Log()), "\n")
		kept := lines[:0:0]
		for _, l := range lines {
			if !strings.Contains(l, `"message":"request"`) {
				kept = append(kept, l)
			}
		}
		c.t.Logf("%s (%d starts), the end of its log; %s=DIR keeps all of it:\n%s", n.Name, n.starts, LogsVariable, strings.Join(kept[max(0, len(kept)-40):], "\n"))
	}
}

// Eventually waits until f is true.
func Eventually(t testing.TB, what string, within time.Duration, f func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !f(); {
		if time.Now().After(end) {
			t.Fatalf("after %v it is still not so: %s", within, what)
		}
		<-time.After(20 * time.Millisecond)
	}
}
