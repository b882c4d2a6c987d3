package cluster

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/cluster/identity"
	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/testkit/commandline"
)

func runCerts(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return commandline.Run(t, cli.Root("test", New()), "", append([]string{"cluster", "certs"}, args...)...)
}

// The printed settings are those with which a node starts.
func TestCertsPrintsFilesAndSettings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	out, err := runCerts(t, "--dir", dir, "--cluster-name", "prod", "--days", "30", "gateway1", "engine1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"wrote " + filepath.Join(dir, "ca.pem") + ", valid until 20", "wrote " + filepath.Join(dir, "ca-key.pem") + "\n",
		"\nSettings of gateway1:\n  cluster-name: prod\n  cluster-tls-ca: " + filepath.Join(dir, "ca.pem") + "\n  cluster-tls-cert: " + filepath.Join(dir, "gateway1.pem") + "\n",
		"\nSettings of engine1:\n", "Do not copy " + filepath.Join(dir, "ca-key.pem") + " to nodes",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}

	out, err = runCerts(t, "--dir", dir, "--cluster-name", "prod", "--json", "--host", "llm.example,10.0.0.7", "engine2")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Cluster string `json:"cluster_name"`
		Files   []struct {
			Path    string
			Expires time.Time
		}
		Nodes []map[string]string
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Cluster != "prod" || len(answer.Files) != 2 || len(answer.Nodes) != 1 {
		t.Fatalf("%s", out)
	}
	n := answer.Nodes[0]
	id, err := identity.Load(identity.Files{CA: n["cluster-tls-ca"], Cert: n["cluster-tls-cert"], Key: n["cluster-tls-key"]}, answer.Cluster)
	if err != nil || n["name"] != "engine2" || !id.Expires().Equal(answer.Files[1].Expires) || !answer.Files[0].Expires.IsZero() {
		t.Errorf("%v: %s", err, out)
	}
	if left := time.Until(id.Expires()); left < 364*day || left > 365*day {
		t.Errorf("%s are left", left)
	}
}

func TestCertsRenews(t *testing.T) {
	dir := t.TempDir()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if _, err := runCerts(t, "--dir", dir, "--cluster-name", "prod", "gw1"); err != nil {
		t.Fatal(err)
	}
	ca, cert, key := read("ca.pem"), read("gw1.pem"), read("gw1-key.pem")
	_, err := runCerts(t, "--dir", dir, "--cluster-name", "prod", "gw1")
	if err == nil || !strings.Contains(err.Error(), "gw1.pem") || !strings.Contains(err.Error(), "use --force to renew the certificate") {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(cert, read("gw1.pem")) {
		t.Error("the certificate was replaced without --force")
	}
	out, err := runCerts(t, "--dir", dir, "--cluster-name", "prod", "--force", "gw1")
	if err != nil || strings.Count(out, "wrote ") != 1 || bytes.Equal(cert, read("gw1.pem")) || !bytes.Equal(ca, read("ca.pem")) || !bytes.Equal(key, read("gw1-key.pem")) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestCertsRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no directory":  {[]string{"--cluster-name", "prod", "gw1"}, []string{"--dir is missing"}},
		"no cluster":    {[]string{"--dir", dir, "gw1"}, []string{"--cluster-name is missing"}},
		"no nodes":      {[]string{"--dir", dir, "--cluster-name", "prod"}, []string{"no nodes are given", "gateway1"}},
		"cluster":       {[]string{"--dir", dir, "--cluster-name", "my.cluster", "gw1"}, []string{`--cluster-name: "my.cluster" is not a cluster name; use 1 to 63`}},
		"days":          {[]string{"--dir", dir, "--cluster-name", "prod", "--days", "0", "gw1"}, []string{"--days is 0; it must be between 1 and 3650"}},
		"too many days": {[]string{"--dir", dir, "--cluster-name", "prod", "--days", "3651", "gw1"}, []string{"--days is 3651"}},
		"days as text":  {[]string{"--dir", dir, "--cluster-name", "prod", "--days", "1y", "gw1"}, []string{`--days is "1y"; it must be a whole number`}},
		"node":          {[]string{"--dir", dir, "--cluster-name", "prod", "gw/1"}, []string{`"gw/1" is not a node name`}},
		"upper case":    {[]string{"--dir", dir, "--cluster-name", "prod", "Gateway_1"}, []string{`"Gateway_1" is not a node name; use 1 to 63 lower-case letters`}},
		"host":          {[]string{"--dir", dir, "--cluster-name", "prod", "--host", "a:1", "gw1"}, []string{`"a:1" is not a host name or IP address`}},
		"near":          {[]string{"--dir", dir, "--clustername", "prod", "gw1"}, []string{"did you mean --cluster-name?"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runCerts(t, c.args...)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the refused calls wrote %v: %v", left, err)
	}
}

// An error in the middle names the files that were written before.
func TestCertsShowsWhatItWroteBeforeAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "gw2-key.pem"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := runCerts(t, "--dir", dir, "--cluster-name", "prod", "gw1", "gw2")
	if err == nil || !strings.Contains(err.Error(), "gw2-key.pem") || !strings.Contains(out, "wrote "+filepath.Join(dir, "gw1.pem")) || strings.Contains(out, "Settings") {
		t.Errorf("%v: %s", err, out)
	}
}
