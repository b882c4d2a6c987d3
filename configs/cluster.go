package configs

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/actors/cluster/discovery"
)

// Cluster are the settings of a node in a cluster. Role is "" outside of one.
type Cluster struct {
	Role      string // gateway, engine or both
	Name      string // of the cluster; the certificates have it
	Node      string // of this node; "": from its host and port
	Listen    string // host:port for other nodes
	Advertise string // host:port at which others reach it; "": Listen
	Join      []string

	CA, Cert, Key string // PEM files; all or none
	Insecure      bool   // no certificates off loopback

	PeerTimeout time.Duration // silence after which a link is over
	ResumeWait  time.Duration // for an engine, before requests end
}

// On reports whether this process is a node of a cluster.
func (c *Cluster) On() bool { return c.Role != "" }

// HasGateway and HasEngine report what the role includes.
func (c *Cluster) HasGateway() bool { return c.Role == RoleGateway || c.Role == RoleBoth }
func (c *Cluster) HasEngine() bool  { return c.Role == "" || c.Role == RoleEngine || c.Role == RoleBoth }

// The roles of a node.
const (
	RoleGateway = "gateway"
	RoleEngine  = "engine"
	RoleBoth    = "both"
)

// NodeName is the name of this node.
func (c *Cluster) NodeName() string {
	if c.Node != "" {
		return c.Node
	}
	_, port, _ := net.SplitHostPort(c.Listen) // checked
	return DefaultNodeName(port)
}

// DefaultNodeName is the name of a node on this host without the setting node-name: a
// valid one, whatever the host is called.
func DefaultNodeName(port string) string {
	host, _ := os.Hostname() // "" with an error
	return nodeNameOf(host, port)
}

// mostLabel is how long a DNS label may be.
const mostLabel = 63

// nodeNameOf makes a label of the first part of a host's name and, unless it is "", a port.
func nodeNameOf(host, port string) string {
	host, _, _ = strings.Cut(host, ".")
	host = strings.Map(func(r rune) rune {
		if isLabelRune(r) {
			return r
		}
		return '-'
	}, strings.ToLower(host))
	if port != "" {
		port = "-" + port
	}
	host = strings.Trim(host, "-")
	host = strings.TrimRight(host[:min(len(host), mostLabel-len(port))], "-")
	return cmp.Or(host, "node") + port
}

// Secure reports whether certificates are set.
func (c *Cluster) Secure() bool { return c.CA != "" }

// clusterSettings are the rows of the table for a cluster.
func (c *Config) clusterSettings() []setting {
	k := &c.Cluster
	return []setting{
		{topic: "Cluster", key: "cluster-role", to: &k.Role, marks: serve, check: clusterRole,
			usage: "what this node does in a cluster: gateway (answers clients, computes nothing), engine (computes for gateways) or both. Default: no cluster, one process does everything"},
		{key: "cluster-name", to: &k.Name, marks: serve, check: clusterName,
			usage: "name of the cluster; nodes of other clusters are refused. Certificates contain it"},
		{key: "node-name", to: &k.Node, marks: serve, check: nodeName,
			usage: "name of this node, unique in its cluster. Default: the host's name and the port of cluster-listen. Example: engine-3"},
		{key: "cluster-listen", to: &k.Listen, marks: serve, check: hostPort,
			usage: "address on which this node listens for other nodes; port 0: any free port. Off loopback it requires certificates, or cluster-insecure. Example: 10.0.0.7:30100"},
		{key: "cluster-advertise", to: &k.Advertise, marks: serve, check: hostPort,
			usage: "address at which other nodes reach this one, if it is not cluster-listen; required if that is 0.0.0.0. Example: engine-3.internal:30100"},
		{key: "cluster-join", to: &k.Join, marks: serve, check: joins,
			usage: "where other nodes are: addresses (host:port), dns:NAME:PORT (all addresses of a name, looked up every second) or etcd://HOST:PORT/PREFIX. One node is enough, because nodes tell each other. Example: 10.0.0.7:30100,10.0.0.8:30100"},
		{key: "cluster-tls-ca", to: &k.CA, marks: serve, usage: "PEM file with the certificate authority of the cluster; troupe cluster certs makes one"},
		{key: "cluster-tls-cert", to: &k.Cert, marks: serve, usage: "PEM file with this node's certificate, signed by cluster-tls-ca. A renewed file takes effect without a restart"},
		{key: "cluster-tls-key", to: &k.Key, marks: serve, usage: "PEM file with the private key of cluster-tls-cert"},
		{key: "cluster-insecure", to: &k.Insecure, marks: serve,
			usage: "allow nodes to talk without certificates off loopback. Anyone who can reach cluster-listen can then read prompts and stop engines"},
		{key: "cluster-peer-timeout", to: &k.PeerTimeout, marks: serve, check: within(500*time.Millisecond, time.Hour),
			usage: "how long a node may be silent, from 500ms to 1h; then it is lost, and its requests continue elsewhere"},
		{key: "cluster-resume-wait", to: &k.ResumeWait, marks: serve, check: within(0, longest),
			usage: "how long requests wait for an engine that can take them; then they end with 503. 0: no limit"},
	}
}

// validateCluster reports contradictions of the cluster settings.
func (c *Config) validateCluster(clash func(when bool, key, other, format string, args ...any)) {
	k := &c.Cluster
	var set, unset []string
	for _, f := range []struct{ key, file string }{{"cluster-tls-ca", k.CA}, {"cluster-tls-cert", k.Cert}, {"cluster-tls-key", k.Key}} {
		if f.file != "" {
			set = append(set, f.key)
		} else {
			unset = append(unset, f.key)
		}
	}
	if len(set) > 0 && len(unset) > 0 {
		is := "is"
		if len(unset) > 1 {
			is = "are"
		}
		clash(true, set[0], set[len(set)-1], "%s %s not set, but certificates need all three files; set %[1]s as well, or remove %[3]s", List(unset, "and"), is, List(set, "and"))
	}
	if k.Role == "" {
		return
	}
	clash(!k.Secure() && !k.Insecure && !onLoopback(k.Listen), "cluster-listen", "cluster-tls-ca",
		"cluster-listen is %s, which other machines can reach; set cluster-tls-ca, cluster-tls-cert and cluster-tls-key (troupe cluster certs makes them), or cluster-insecure", k.Listen)
	clash(k.Advertise == "" && everyHost(k.Listen), "cluster-listen", "cluster-advertise",
		"cluster-listen is %s, which is not an address that other nodes can use; set cluster-advertise to one", k.Listen)
	clash(everyHost(k.Advertise), "cluster-advertise", "cluster-listen", "cluster-advertise is %s, which is not the address of one host; set it to the name or the IP address at which other nodes reach this one", k.Advertise)
	clash(k.Role == RoleGateway && c.Cache.Events, "kv-events", "cluster-role", "kv-events is for engines; a gateway has no prefix cache. Remove it, or read the events at the engines")
	clash(k.Role == RoleGateway && c.given("model"), "model", "cluster-role", "a gateway loads no model; its engines tell it what they serve. Remove model, or set cluster-role to both")
}

// withoutCluster are the cluster settings that were given without a role.
func (c *Config) withoutCluster() (keys []string) {
	if c.Cluster.Role != "" {
		return nil
	}
	for _, s := range c.clusterSettings() {
		if c.given(s.key) {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// everyHost reports whether an address means all addresses of a machine.
func everyHost(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return false // another check reports it
	}
	a, err := netip.ParseAddr(host)
	return host == "" || err == nil && a.IsUnspecified()
}

// onLoopback reports whether only this machine can reach an address.
func onLoopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return true // another check reports it
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

func joins(value any) []string {
	if err := discovery.Check(value.([]string)); err != nil {
		return []string{strings.TrimPrefix(err.Error(), "cluster-join ")}
	}
	return nil
}

// hostPort accepts host:port; "" if it is not set.
func hostPort(value any) []string {
	text := value.(string)
	if text == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return []string{fmt.Sprintf("is %q; it must be HOST:PORT, with IPv6 addresses in brackets, for example 10.0.0.7:30100", text)}
	}
	return nil
}

func clusterRole(value any) []string {
	if value == "" {
		return nil
	}
	return oneOf(RoleGateway, RoleEngine, RoleBoth)(value)
}

// clusterName accepts a DNS label: certificates contain the name.
func clusterName(value any) []string {
	if text := value.(string); !isLabel(text) {
		return []string{fmt.Sprintf("is %q; it must have 1 to 63 lower-case letters, digits and inner hyphens, for example prod-1", text)}
	}
	return nil
}

func nodeName(value any) []string {
	if text := value.(string); text != "" && !isLabel(text) {
		return []string{fmt.Sprintf("is %q; it must have 1 to 63 lower-case letters, digits and inner hyphens, for example engine-3", text)}
	}
	return nil
}

func isLabel(text string) bool {
	return text != "" && len(text) <= mostLabel && text[0] != '-' && text[len(text)-1] != '-' &&
		!strings.ContainsFunc(text, func(r rune) bool { return !isLabelRune(r) })
}

func isLabelRune(r rune) bool {
	return r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z'
}
