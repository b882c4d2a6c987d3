package main

import (
	"fmt"
	"io/fs"
	"net"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/cluster/identity"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/configs"
)

// The files in deploy/ start nodes that agree with each other and with the binary: every
// setting loads, every address that is looked up is one, and every probe is answered.
func TestDeployments(t *testing.T) {
	files := deployFiles(t)
	for _, err := range checkDeployments(t, files) {
		t.Error(err)
	}
	for _, c := range []struct{ file, old, new, want string }{
		{"deploy/Dockerfile", "ENV TROUPE_HOST", "ENV TROUPE_HOSTS", "unknown setting TROUPE_HOSTS in the environment; did you mean TROUPE_HOST?"},
		{"deploy/Dockerfile", "golang:1.26", "registry.example/golang:1.26", "is not a public one"},
		{"deploy/Dockerfile", "USER 65532:65532", "USER root", `user "root" is not a number`},
		{"deploy/Dockerfile", `"--live"`, `"--life"`, "unknown flag: --life"},
		{"deploy/Dockerfile.cuda", "ENV TROUPE_HOST", "ENV TROUPE_HOSTS", "unknown setting TROUPE_HOSTS in the environment; did you mean TROUPE_HOST?"},
		{"deploy/Dockerfile.cuda", "USER 65532:65532", "USER root", `user "root" is not a number`},
		{"deploy/Dockerfile.cuda", `ENTRYPOINT ["/troupe"]`, `ENTRYPOINT ["/troupe-cuda"]`, "it cannot take the place of the other image"},
		{"deploy/compose.yaml", "TROUPE_MEM_FRACTION_STATIC", "TROUPE_MEM_FRACTION", "unknown setting TROUPE_MEM_FRACTION "},
		{"deploy/compose.yaml", "TROUPE_CLUSTER_LISTEN: engine-1:30100", "TROUPE_CLUSTER_LISTEN: engine-2:30100", "cluster-listen is engine-2:30100, but its host is called engine-1"},
		{"deploy/compose.yaml", "aliases: [engines]", "aliases: [engine]", "cluster-join names engines, which no container is called"},
		{"deploy/compose.yaml", "127.0.0.1:30000:30000", "127.0.0.1:30000:3000", "port 3000 is not one on which it listens"},
		{"deploy/compose.yaml", "stop_grace_period: 150s", "stop_grace_period: 60s", "it is killed after 1m0s"},
		{"deploy/compose.yaml", `"CMD", "/troupe", "health"`, `"CMD", "curl", "health"`, "curl is not in the image"},
		{"deploy/compose.yaml", "--force, node", "--force, nodes", "nobody makes /certs/node.pem"},
		{"deploy/compose.yaml", "TROUPE_NODE_NAME: engine-2", "TROUPE_NODE_NAME: engine-1", "two nodes are called engine-1"},
		{"deploy/kubernetes/engines.yaml", "TROUPE_CLUSTER_ADVERTISE", "TROUPE_ADVERTISE", "unknown setting TROUPE_ADVERTISE"},
		{"deploy/kubernetes/engines.yaml", "enableServiceLinks: false", "enableServiceLinks: true", "enableServiceLinks is not false"},
		{"deploy/kubernetes/engines.yaml", "path: /readyz", "path: /ready", "/ready is answered with 401"},
		{"deploy/kubernetes/engines.yaml", "containerPort: 30000", "containerPort: 30001", "port 30001 is not one on which it listens"},
		{"deploy/kubernetes/engines.yaml", "publishNotReadyAddresses: true", "publishNotReadyAddresses: false", "troupe-engines, which no container is called"},
		{"deploy/kubernetes/gateways.yaml", "key: admin-api-key", "key: admin", "no command makes its key admin"},
		{"deploy/kubernetes/gateways.yaml", "terminationGracePeriodSeconds: 150", "terminationGracePeriodSeconds: 120", "it is killed after 2m0s"},
		{"deploy/kubernetes/gateways.yaml", "path: /livez", "path: /live", "/live is answered with 404"},
		{"deploy/kubernetes/gateways.yaml", "kind: PodDisruptionBudget", "kind: PodBudget", `kind "PodBudget" is not checked`},
		{"deploy/kubernetes/settings.yaml", "cluster-role: gateway", "cluster-role: gate", `cluster-role is "gate"; it must be gateway, engine or both`},
		{"deploy/kubernetes/settings.yaml", "cluster-tls-ca: /certs/ca.pem", "cluster-tls-ca: /cert/ca.pem", "/cert/ca.pem is in no volume"},
		{"deploy/kubernetes/settings.yaml", "--cluster-name prod", "--cluster-name test", `is for cluster "test"`},
		{"deploy/single/compose.yaml", "TROUPE_MEM_FRACTION_STATIC", "TROUPE_MEM", "unknown setting TROUPE_MEM "},
		{"deploy/single/compose.yaml", "30000:30000", "30000:3000", "port 3000 is not one on which it listens"},
		{"deploy/single/kubernetes.yaml", "path: /livez", "path: /live", "/live is answered with 401"},
		{"deploy/single/kubernetes.yaml", "--from-literal=api-key", "--from-literal=key", "no command makes its key api-key"},
		{"deploy/single/kubernetes.yaml", "terminationGracePeriodSeconds: 150", "terminationGracePeriodSeconds: 20", "it is killed after 20s"},
		{"deploy/systemd/troupe.service", "serve --config", "serve --configs", "unknown flag: --configs"},
		{"deploy/systemd/troupe.service", "TimeoutStopSec=150", "TimeoutStopSec=15", "it is killed after 15s"},
		{"deploy/systemd/troupe-cuda.conf", "serve --config", "serve --configs", "unknown flag: --configs"},
		{"deploy/systemd/troupe-cuda.conf", "TROUPE_DEVICE=cuda", "TROUPE_DEVICES=cuda", "unknown setting TROUPE_DEVICES"},
		{"configs/engine.yaml", "cluster-join: dns:engines:30100", "cluster-join: dns:engines:30200", "cluster-join names engines:30200, but"},
	} {
		if !strings.Contains(files[c.file], c.old) {
			t.Errorf("%s does not have %q", c.file, c.old)
			continue
		}
		changed := map[string]string{}
		for name, text := range files {
			changed[name] = text
		}
		changed[c.file] = strings.Replace(files[c.file], c.old, c.new, 1)
		errs := checkDeployments(t, changed)
		if !slices.ContainsFunc(errs, func(err error) bool { return strings.Contains(err.Error(), c.want) }) {
			t.Errorf("%s with %s: no error has %q: %v", c.file, c.new, c.want, errs)
		}
	}
}

// deployFiles are the texts of deploy/ and of the presets, by their path in the repository.
func deployFiles(t *testing.T) map[string]string {
	files := map[string]string{}
	for _, folder := range []string{"../../deploy", "../../configs"} {
		if err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasSuffix(name, ".go") {
				return err
			}
			text, err := os.ReadFile(name)
			files[strings.TrimPrefix(filepath.ToSlash(name), "../../")] = string(text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// image checks a Dockerfile, and that a container of it alone starts.
func (d *deployment) image(t *testing.T, where, text string) image {
	m := d.dockerfile(where, text)
	alone := m.container(where, m.cmd, nil)
	alone.probes = m.probes
	if _, err := d.load(t, alone); err != nil {
		d.fail(where, "%v", err)
	}
	d.probes(t, alone, nil)
	return m
}

func checkDeployments(t *testing.T, files map[string]string) []error {
	d := &deployment{}
	m := d.image(t, "Dockerfile", files["deploy/Dockerfile"])
	other := d.image(t, "Dockerfile.cuda", files["deploy/Dockerfile.cuda"])
	if !slices.Equal(m.entrypoint, other.entrypoint) || files["deploy/Dockerfile.dockerignore"] != files["deploy/Dockerfile.cuda.dockerignore"] {
		d.fail("Dockerfile.cuda", "it cannot take the place of the other image")
	}
	kube := map[string]string{}
	for name, text := range files {
		switch {
		case !strings.HasPrefix(name, "deploy/") || strings.HasPrefix(name, "deploy/Dockerfile"):
		case name == "deploy/compose.yaml":
			d.compose(name, text, m, files)
			d.cluster(t, composeCertificates(t, d))
			d.containers = nil
		case path.Dir(name) == "deploy/kubernetes":
			kube[name] = text
		case path.Dir(name) == "deploy/single":
			d.single(t, name, text, m, files)
		case name == "deploy/systemd/troupe.service":
			d.unit(t, name, text)
		case name == "deploy/systemd/troupe-cuda.conf":
			d.unit(t, name, files["deploy/systemd/troupe.service"]+text)
		case path.Dir(name) == "deploy/monitoring": // TestMonitoring
		default:
			d.fail(name, "this file is not checked")
		}
	}
	d.kubernetes(kube, m)
	certs, made := secretCertificates(t, d, kube["deploy/kubernetes/settings.yaml"])
	d.cluster(t, certs)
	for _, c := range d.containers {
		for secret, keys := range c.secrets {
			for _, key := range keys {
				if !slices.Contains(made[secret], key) {
					d.fail("secret "+secret, "no command makes its key %s", key)
				}
			}
		}
	}
	return d.errs
}

// composeCertificates runs the service that makes the certificates, twice as `up` does,
// and returns the folder that it fills.
func composeCertificates(t *testing.T, d *deployment) string {
	dir := t.TempDir()
	for _, c := range d.containers {
		if c.command[1] == "cluster" {
			args := slices.Clone(c.command[1:])
			args[slices.Index(args, "--dir")+1] = dir
			mustRun(t, "", args...)
			mustRun(t, "", args...)
		}
	}
	return dir
}

// secretCertificates runs the command for certificates that the comments of a file have. It
// returns the folder with the files, and the keys of each secret that other commands make.
func secretCertificates(t *testing.T, d *deployment, text string) (certs string, made map[string][]string) {
	t.Chdir(t.TempDir())
	for _, command := range regexp.MustCompile(`(?m)^#   troupe (cluster certs .*)$`).FindAllStringSubmatch(text, -1) {
		mustRun(t, "", strings.Fields(command[1])...)
	}
	made = map[string][]string{}
	for _, secret := range regexp.MustCompile(`(?m)^#   kubectl create secret generic (\S+) (.*)$`).FindAllStringSubmatch(text, -1) {
		for _, key := range regexp.MustCompile(`--from-(file|literal)=([^= ]+)=(\S+)`).FindAllStringSubmatch(secret[2], -1) {
			made[secret[1]] = append(made[secret[1]], key[2])
			if _, err := os.Stat(key[3]); err != nil && key[1] == "file" {
				d.fail("secret "+secret[1], "%v", err)
			}
		}
	}
	certs, err := filepath.Abs("certs")
	if err != nil {
		t.Fatal(err)
	}
	return certs, made
}

// load reads the settings of a container as the binary does. Environment and files are
// those of the container.
func (d *deployment) load(t *testing.T, c *container) (*configs.Config, error) {
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "TROUPE_") {
			t.Setenv(name, "") // so that it is set again after the test
			os.Unsetenv(name)
		}
	}
	for key, value := range c.env {
		t.Setenv(key, value)
	}
	args := slices.Clone(c.command[1:])
	for name, text := range c.files {
		file := filepath.Join(t.TempDir(), path.Base(name))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, arg := range args {
			if arg == name {
				args[i] = file
			}
		}
	}
	command, rest, err := newRoot().Find(args)
	if err == nil {
		err = command.ParseFlags(rest)
	}
	if err != nil || command.Name() != "serve" {
		return nil, err
	}
	return cli.Config(command)
}

// cluster checks containers that are one cluster, with the certificates in a folder.
func (d *deployment) cluster(t *testing.T, certs string) {
	loaded, names := map[*container]*configs.Config{}, map[string]int{}
	for _, c := range d.containers {
		if c.command[1] != "serve" {
			continue
		}
		cfg, err := d.load(t, c)
		if err != nil {
			d.fail(c.name, "%v", err)
			continue
		}
		loaded[c] = cfg
		names[cfg.Cluster.NodeName()]++
		d.node(t, c, cfg, certs)
	}
	if len(loaded) < 2 {
		d.fail("cluster", "it has %d kinds of nodes", len(loaded))
	}
	for name, n := range names {
		if n > 1 && name != "troupe-engines-0" { // of any pod
			d.fail("cluster", "two nodes are called %s", name)
		}
	}
	for c, cfg := range loaded {
		for _, entry := range cfg.Cluster.Join {
			name, port, _ := net.SplitHostPort(strings.TrimPrefix(entry, "dns:"))
			found := false
			for other, its := range loaded {
				if !slices.Contains(other.hosts, name) {
					continue
				}
				found = true
				if _, listens, _ := net.SplitHostPort(its.Cluster.Listen); listens != port {
					d.fail(c.name, "cluster-join names %s:%s, but %s listens on %s", name, port, other.name, its.Cluster.Listen)
				}
			}
			if !found {
				d.fail(c.name, "cluster-join names %s, which no container is called", name)
			}
		}
	}
}

// node checks what a container says of itself.
func (d *deployment) node(t *testing.T, c *container, cfg *configs.Config, certs string) {
	k := &cfg.Cluster
	if !k.On() || !k.Secure() || len(k.Join) == 0 {
		d.fail(c.name, "role %q, certificates %t, %d entries of cluster-join", k.Role, k.Secure(), len(k.Join))
	}
	host, port, _ := net.SplitHostPort(k.Listen)
	if ip := net.ParseIP(host); ip == nil && !slices.Contains(c.hosts, host) {
		d.fail(c.name, "cluster-listen is %s, but its host is called %s", k.Listen, c.hosts[1])
	}
	if _, advertised, _ := net.SplitHostPort(k.Advertise); k.Advertise != "" && advertised != port {
		d.fail(c.name, "cluster-advertise is %s, cluster-listen %s", k.Advertise, k.Listen)
	}
	for _, p := range c.ports {
		if strconv.Itoa(p) != port && p != cfg.HTTP.Port {
			d.fail(c.name, "port %d is not one on which it listens", p)
		}
	}
	for _, file := range []*string{&k.CA, &k.Cert, &k.Key} {
		secret, ok := c.folders[path.Dir(*file)]
		if !ok {
			d.fail(c.name, "%s is in no volume", *file)
		}
		if secret != "" {
			c.secrets[secret] = append(c.secrets[secret], path.Base(*file))
		}
		if _, err := os.Stat(filepath.Join(certs, path.Base(*file))); err != nil {
			d.fail(c.name, "nobody makes %s", *file)
		}
		*file = filepath.Join(certs, path.Base(*file))
	}
	if _, err := identity.Load(identity.Files{CA: k.CA, Cert: k.Cert, Key: k.Key}, k.Name); err != nil {
		d.fail(c.name, "%v", err)
	}
	if open := 12 * time.Second; k.HasGateway() && c.grace < c.before+cfg.DrainTimeout+open || c.grace < open {
		d.fail(c.name, "it is killed after %v, but takes %v, drain-timeout (%v) and up to %v to end", c.grace, c.before, cfg.DrainTimeout, open)
	}
	if len(c.probes) == 0 {
		d.fail(c.name, "it has no probe")
	}
	d.probes(t, c, cfg)
}

// probes checks that the binary answers the probes of a container. cfg may be nil if they
// are commands.
func (d *deployment) probes(t *testing.T, c *container, cfg *configs.Config) {
	for _, p := range c.probes {
		if len(p.command) > 0 {
			if p.command[0] != c.command[0] {
				d.fail(c.name, "%s is not in the image", p.command[0])
				continue
			}
			command, rest, err := newRoot().Find(p.command[1:])
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err != nil || command.Name() != "health" {
				d.fail(c.name, "probe %q: %v", p.command, err)
			}
			continue
		}
		if c.ports[p.port] != cfg.HTTP.Port {
			d.fail(c.name, "probe %s asks port %s", p.path, p.port)
		}
		deps := httpapi.Deps{Options: cfg.HTTP, Models: httpapi.Serving(), Gateway: cfg.Cluster.HasGateway(), Now: time.Now}
		if !deps.Gateway {
			deps.Node = &httpapi.EngineNode{Cluster: cfg.Cluster.Name, Gateway: func() string { return "" }}
		}
		request := httptest.NewRequestWithContext(t.Context(), "GET", p.path, nil)
		request.Host = fmt.Sprintf("10.1.2.3:%d", cfg.HTTP.Port)
		answer := httptest.NewRecorder()
		httpapi.New(deps).Handler().ServeHTTP(answer, request)
		if want := map[string]int{"/livez": 200, "/readyz": 503}[p.path]; answer.Code != want { // it has no engine
			d.fail(c.name, "%s is answered with %d", p.path, answer.Code)
		}
	}
}
