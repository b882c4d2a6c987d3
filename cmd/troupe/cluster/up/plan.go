package up

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/actors/cluster/identity"
	"github.com/troupe-engine/troupe/configs"
)

const (
	host     = "127.0.0.1"
	maxNodes = 64
	// apart is the distance between the port of a node's API and that for other nodes.
	// It is above maxNodes, so that the two ranges do not meet.
	apart = 100
	// defaultMemory is the share of the memory that a CPU device takes by default.
	defaultMemory = 0.5
)

// spec is a node: what its process is called, and where it listens.
type spec struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	PID     int    `json:"pid"`
	URL     string `json:"url"`             // of its API
	Address string `json:"cluster_address"` // for other nodes
	port    int
	args    []string
	env     []string
}

// setting is one that was given for every node.
type setting struct{ name, value string }

func (s *setting) flag() string { return "--" + s.name + "=" + s.value }

// own are settings that differ between nodes, or that only one node could use.
var own = map[string]bool{
	"port": true, "host": true, "cluster-role": true, "node-name": true, "cluster-listen": true, "cluster-advertise": true, "cluster-join": true,
	"admin-address": true, "record-trace": true,
}

// refuseOwn is the error of a setting that only one node could have.
func refuseOwn(name string) error {
	if name == "port" { // cluster up has a flag of this name
		return errors.New("--port after -- would be the same for all nodes; give it before --, for the first gateway: troupe cluster up --port PORT")
	}
	return fmt.Errorf("--%s cannot be the same for all nodes, so cluster up sets it itself; remove it, or start the nodes one by one with troupe serve", name)
}

// notForGateways are settings that a gateway refuses, with their second names.
var notForGateways = []string{"model", "model-path", "kv-events"}

// parseSettings reads what is after -- on the command line.
func parseSettings(args []string) (list []setting, flags *pflag.FlagSet, err error) {
	flags = pflag.NewFlagSet("", pflag.ContinueOnError)
	configs.AddFlags(flags)
	err = flags.ParseAll(args, func(f *pflag.Flag, value string) error {
		if own[f.Name] {
			return refuseOwn(f.Name)
		}
		list = append(list, setting{f.Name, value})
		return flags.Set(f.Name, value)
	})
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("%q after -- is not a setting; write --NAME=VALUE", flags.Arg(0))
	}
	return list, flags, err
}

// layout names the nodes and gives them ports.
func (u *up) layout() (nodes []spec, err error) {
	total, ports := u.gateways+u.engines, u.ports()
	for i := range total {
		n := spec{Name: fmt.Sprintf("gateway-%d", i+1), Role: configs.RoleGateway}
		if i >= u.gateways {
			n = spec{Name: fmt.Sprintf("engine-%d", i-u.gateways+1), Role: configs.RoleEngine}
		}
		nodes = append(nodes, n)
	}
	if err := reserve(ports, func(i int) string { return nodes[i%total].Name }); err != nil {
		return nil, err
	}
	for i := range nodes {
		nodes[i].port = ports[i]
		nodes[i].URL = "http://" + net.JoinHostPort(host, strconv.Itoa(ports[i]))
		nodes[i].Address = net.JoinHostPort(host, strconv.Itoa(ports[total+i]))
	}
	return nodes, nil
}

// ports returns those of the APIs, and then those for other nodes; 0 is any free port.
func (u *up) ports() []int {
	total := u.gateways + u.engines
	ports := make([]int, 2*total)
	for i := range total {
		if u.port != 0 {
			ports[i], ports[total+i] = u.port+i, u.port+apart+i
		}
	}
	return ports
}

// reserve checks that the ports are free, and replaces 0 by a free one. It holds each
// until all are checked, so that no two are equal.
func reserve(ports []int, of func(int) string) error {
	for i, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return fmt.Errorf("port %d, for %s, is in use; stop what uses it, or choose another --port", port, of(i))
		case err != nil:
			return fmt.Errorf("port %d, for %s, cannot be used; choose another --port: %w", port, of(i), err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return nil
}

// complete gives each node the arguments and the environment of its process. cfg are the
// settings that all nodes have; certs is the directory of their certificates, or "".
func (u *up) complete(nodes []spec, list []setting, cfg *configs.Config, certs string) {
	for i := range nodes {
		n := &nodes[i]
		if cfg.HTTP.TLSCert != "" {
			n.URL = "https" + strings.TrimPrefix(n.URL, "http")
		}
		n.args = []string{"serve"}
		if u.config != "" {
			n.args = append(n.args, "--config="+u.config)
		}
		for _, s := range u.settingsOf(n, nodes, cfg, certs) {
			n.args = append(n.args, s.flag())
		}
		n.env = os.Environ()
		if n.Role == configs.RoleEngine {
			for _, s := range list {
				n.args = append(n.args, s.flag())
			}
			if !given(cfg, "threads") && os.Getenv("GOMAXPROCS") == "" {
				// Two more than compute: for actors, and for links.
				n.env = append(n.env, fmt.Sprintf("GOMAXPROCS=%d", min(u.cores, u.threads()+2)))
			}
			continue
		}
		for _, s := range list {
			if !slices.Contains(notForGateways, s.name) {
				n.args = append(n.args, s.flag())
			}
		}
		n.env = slices.DeleteFunc(n.env, func(variable string) bool {
			name, _, _ := strings.Cut(variable, "=")
			return slices.ContainsFunc(notForGateways, func(key string) bool { return name == variableOf(key) })
		})
	}
}

// settingsOf are those that a node has for itself. Those of the config file and the
// environment that several nodes cannot share are switched off.
func (u *up) settingsOf(n *spec, nodes []spec, cfg *configs.Config, certs string) []setting {
	var others []string
	for i := range nodes {
		if nodes[i].Name != n.Name {
			others = append(others, nodes[i].Address)
		}
	}
	list := []setting{
		{"host", host}, {"port", strconv.Itoa(n.port)}, {"cluster-role", n.Role}, {"node-name", n.Name},
		{"cluster-listen", n.Address}, {"cluster-advertise", ""}, {"cluster-join", strings.Join(others, ",")},
		{"admin-address", ""}, {"record-trace", ""},
	}
	if certs != "" {
		f := identity.FilesOf(certs, n.Name)
		list = append(list, setting{"cluster-tls-ca", f.CA}, setting{"cluster-tls-cert", f.Cert}, setting{"cluster-tls-key", f.Key})
	}
	if n.Role == configs.RoleEngine && !given(cfg, "threads") {
		list = append(list, setting{"threads", strconv.Itoa(u.threads())})
	}
	if n.Role == configs.RoleEngine && cfg.Pool.MemFraction == 0 {
		list = append(list, setting{"mem-fraction-static", strconv.FormatFloat(defaultMemory/float64(u.engines), 'f', 3, 64)})
	}
	if u.terminal && cfg.LogFormat == "auto" { // the node's own stderr is a pipe
		list = append(list, setting{"log-format", "text"})
	}
	return list
}

// variableOf is the environment variable of a setting.
func variableOf(key string) string {
	return "TROUPE_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// threads is an engine's share of the cores.
func (u *up) threads() int { return max(1, u.cores/u.engines) }

// given reports whether a setting has a value of the user.
func given(cfg *configs.Config, key string) bool {
	return slices.ContainsFunc(cfg.Values(), func(v configs.Value) bool { return v.Key == key && v.Source != "default" })
}

// checkFile refuses a config file with settings that the gateways would refuse: they
// read it as well.
func checkFile(cfg *configs.Config) error {
	for _, v := range cfg.Values() {
		if slices.Contains(notForGateways, v.Key) && strings.HasPrefix(v.Source, "file ") {
			return fmt.Errorf("gateways read the config file too, and refuse %s (%s); give it after -- instead: troupe cluster up -- --%s=%s", v.Key, v.Source, v.Key, v.Text())
		}
	}
	return nil
}

// certificates makes those of the nodes, in a directory of their own. The key of the CA
// is not kept.
func certificates(cluster string, nodes []spec) (dir string, err error) {
	dir, err = os.MkdirTemp("", "troupe-cluster-")
	if err != nil {
		return "", err
	}
	var names []string
	for i := range nodes {
		names = append(names, nodes[i].Name)
	}
	if _, err = identity.Create(dir, cluster, names, identity.CreateOptions{}); err == nil {
		err = os.Remove(filepath.Join(dir, "ca-key.pem"))
	}
	if err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}
