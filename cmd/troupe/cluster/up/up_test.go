package up

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/actors/cluster/identity"
	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/testkit/commandline"
)

// planned makes the plan of a command line.
func planned(t *testing.T, u *up, settings ...string) (nodes []spec, err error) {
	t.Helper()
	list, flags, err := parseSettings(settings)
	if err != nil {
		return nil, err
	}
	c := cli.Root("test")
	if err := c.ParseFlags(nil); err != nil { // --config
		return nil, err
	}
	cfg, err := u.settings(c, flags)
	if err != nil {
		return nil, err
	}
	if nodes, err = u.layout(); err != nil {
		return nil, err
	}
	u.complete(nodes, list, cfg, "")
	return nodes, nil
}

func mustPlan(t *testing.T, u *up, settings ...string) []spec {
	t.Helper()
	nodes, err := planned(t, u, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

func variables(n *spec, name string) (values []string) {
	for _, v := range n.env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			values = append(values, value)
		}
	}
	return values
}

func TestPlan(t *testing.T) {
	t.Setenv("GOMAXPROCS", "") // of the test's own environment
	os.Unsetenv("GOMAXPROCS")
	nodes := mustPlan(t, &up{gateways: 1, engines: 2, cores: 8}, "--page-size", "32", "--api-key", "a,b", "--model=/m", "--kv-events")
	at := func(n int) string { // 100 to 102 are for nodes
		if n < apart {
			return strconv.Itoa(nodes[n].port)
		}
		_, port, _ := strings.Cut(nodes[n-apart].Address, ":")
		return port
	}
	for i, want := range []struct{ name, args string }{
		{"gateway-1", "serve --host=127.0.0.1 --port=" + at(0) + " --cluster-role=gateway --node-name=gateway-1 --cluster-listen=127.0.0.1:" + at(100) +
			" --cluster-advertise= --cluster-join=127.0.0.1:" + at(101) + ",127.0.0.1:" + at(102) + " --admin-address= --record-trace= --page-size=32 --api-key=a,b"},
		{"engine-1", "serve --host=127.0.0.1 --port=" + at(1) + " --cluster-role=engine --node-name=engine-1 --cluster-listen=127.0.0.1:" + at(101) +
			" --cluster-advertise= --cluster-join=127.0.0.1:" + at(100) + ",127.0.0.1:" + at(102) + " --admin-address= --record-trace=" +
			" --threads=4 --mem-fraction-static=0.250 --page-size=32 --api-key=a,b --model=/m --kv-events=true"},
		{"engine-2", "--node-name=engine-2"},
	} {
		n := &nodes[i]
		if args := strings.Join(n.args, " "); n.Name != want.name || !strings.Contains(args, want.args) {
			t.Errorf("%s:\n%s\nwant\n%s", n.Name, args, want.args)
		}
		if n.URL != "http://127.0.0.1:"+at(i) || n.Address != "127.0.0.1:"+at(100+i) {
			t.Errorf("%s is at %s and %s", n.Name, n.URL, n.Address)
		}
	}
	if got := variables(&nodes[1], "GOMAXPROCS"); !slices.Equal(got, []string{"6"}) || variables(&nodes[0], "GOMAXPROCS") != nil {
		t.Errorf("GOMAXPROCS of an engine is %v", got)
	}
}

func TestPlanLeavesWhatIsGiven(t *testing.T) {
	u := &up{gateways: 1, engines: 3, cores: 2, terminal: true}
	args := func(i int, settings ...string) string {
		return strings.Join(mustPlan(t, u, settings...)[i].args, " ")
	}
	if got := args(1); !strings.Contains(got, "--threads=1 ") || !strings.Contains(got, "--log-format=text") {
		t.Error(got)
	}
	got := args(1, "--threads", "2", "--mem-fraction-static=0.3", "--log-format", "json", "--tls-cert=c", "--tls-key=k")
	if strings.Count(got, "threads") != 1 || strings.Count(got, "mem-fraction") != 1 || strings.Contains(got, "text") {
		t.Error(got)
	}
	if url := mustPlan(t, u, "--tls-cert=c", "--tls-key=k")[0].URL; !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Error(url)
	}
	t.Setenv("TROUPE_THREADS", "5")
	t.Setenv("TROUPE_MODEL", "/m")
	t.Setenv("TROUPE_KV_EVENTS", "true")
	t.Setenv("TROUPE_PAGE_SIZE", "32")
	t.Setenv("TROUPE_CLUSTER_ADVERTISE", "a:1") // differs between nodes: an empty flag overrides it
	nodes := mustPlan(t, u)
	if got := strings.Join(nodes[1].args, " "); strings.Contains(got, "threads") {
		t.Error(got)
	}
	for _, v := range []string{"TROUPE_MODEL", "TROUPE_KV_EVENTS"} {
		if variables(&nodes[0], v) != nil || variables(&nodes[1], v) == nil {
			t.Errorf("%s: %v, %v", v, variables(&nodes[0], v), variables(&nodes[1], v))
		}
	}
	if variables(&nodes[0], "TROUPE_PAGE_SIZE") == nil {
		t.Error("a gateway lacks a setting of the environment")
	}
}

func TestPorts(t *testing.T) {
	u := &up{gateways: 1, engines: 2, port: 30000}
	if got := u.ports(); !slices.Equal(got, []int{30000, 30001, 30002, 30100, 30101, 30102}) {
		t.Error(got)
	}
	u.port = 0
	if got := u.ports(); !slices.Equal(got, make([]int, 6)) {
		t.Error(got)
	}
	// The highest port that is accepted fits.
	u = &up{gateways: 32, engines: 32, port: 65535 - 100 - 63}
	if got := slices.Max(u.ports()); got != 65535 || u.check() != nil {
		t.Error(got, u.check())
	}
	if u.port++; u.check() == nil {
		t.Error("a port above 65535 is accepted")
	}
}

func TestFreePortsDiffer(t *testing.T) {
	seen := map[string]bool{}
	nodes := mustPlan(t, &up{gateways: 32, engines: 32, cores: 2})
	for _, n := range nodes {
		seen[n.URL], seen["http://"+n.Address] = true, true
	}
	if len(nodes) != 64 || len(seen) != 128 || seen["http://127.0.0.1:0"] {
		t.Errorf("%d nodes have %d ports", len(nodes), len(seen))
	}
}

func TestCertificates(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	nodes := []spec{{Name: "gateway-1"}, {Name: "engine-1"}}
	dir, err := certificates("prod", nodes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Load(identity.FilesOf(dir, "engine-1"), "prod"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ca-key.pem")); !os.IsNotExist(err) {
		t.Errorf("the key of the CA is still there: %v", err)
	}
	if _, err = certificates("Not a name", nodes); err == nil {
		t.Error("no error")
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")); err != nil || !slices.Equal(left, []string{dir}) {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Nothing starts with a wrong command line.
func TestUpRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	file := commandline.File(t, "troupe.yaml", "page-size: 32\nmodel: /m\n")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no engines":         {[]string{"--engines", "0"}, "--engines is 0; it must be at least 1"},
		"no gateways":        {[]string{"--gateways", "-1"}, "--gateways is -1; it must be at least 1"},
		"too many":           {[]string{"--gateways", "4", "--engines", "61"}, "--gateways 4 and --engines 61 are too many nodes for one machine; at most 64 together are allowed"},
		"far too many":       {[]string{"--engines", "9223372036854775807"}, "at most 64"},
		"port":               {[]string{"--port", "65500"}, "--port is 65500; it must be between 0 and 65431"},
		"port in use":        {[]string{"--port", strconv.Itoa(port)}, "port " + strconv.Itoa(port) + ", for gateway-1, is in use"},
		"argument":           {[]string{"x"}, `cluster up takes no arguments; remove "x"`},
		"argument before":    {[]string{"x", "--", "--page-size=32"}, `cluster up takes no arguments; remove "x"`},
		"argument after":     {[]string{"--", "x"}, `"x" after -- is not a setting`},
		"setting before":     {[]string{"--model", "x"}, "--model is a setting of the nodes; give it after --: troupe cluster up -- --model VALUE"},
		"unknown setting":    {[]string{"--", "--modle", "x"}, "unknown flag: --modle; did you mean --model?"},
		"unknown flag":       {[]string{"--engine", "3"}, "did you mean --engines?"},
		"value of a setting": {[]string{"--", "--page-size", "3"}, "page-size is 3; it must be a power of two"},
		"type of a setting":  {[]string{"--", "--page-size", "x"}, `--page-size is "x"; it must be a whole number`},
		"own setting":        {[]string{"--", "--port", "3"}, "--port after -- would be the same for all nodes; give it before --, for the first gateway: troupe cluster up --port PORT"},
		"own, before":        {[]string{"--node-name", "x"}, "--node-name cannot be the same for all nodes, so cluster up sets it itself; remove it, or start the nodes one by one with troupe serve"},
		"own, after":         {[]string{"--", "--node-name", "x"}, "--node-name cannot be the same for all nodes, so cluster up sets it itself; remove it"},
		"shared by no two":   {[]string{"--", "--record-trace", "t"}, "--record-trace cannot be the same for all nodes"},
		"certificates":       {[]string{"--tls", "--", "--cluster-tls-ca", "x"}, "--tls makes certificates, but --cluster-tls-ca names one"},
		"cluster name":       {[]string{"--", "--cluster-name", "A"}, `cluster-name is "A"; it must have`},
		"model in a file":    {[]string{"--config", file}, "gateways read the config file too, and refuse model (file " + file + ", line 2); give it after -- instead: troupe cluster up -- --model=/m"},
	} {
		t.Run(name, func(t *testing.T) {
			group := &cobra.Command{Use: "cluster"}
			group.AddCommand(New())
			_, err := commandline.Run(t, cli.Root("test", group), "", append([]string{"cluster", "up"}, c.args...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
