package identity

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// contents are the files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		if !e.IsDir() {
			all[e.Name()] = string(get(t, filepath.Join(dir, e.Name())))
		}
	}
	return all
}

func names(files map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(files)), " ")
}

func TestCreateWritesFilesOfTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "certs")
	wrote := create(t, dir, "prod", CreateOptions{Validity: 24 * time.Hour}, "gw1", "engine-1")
	var paths []string
	for _, w := range wrote {
		paths = append(paths, filepath.Base(w.Path))
		info, err := os.Stat(w.Path)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("%s has mode %s", w.Path, info.Mode())
		}
	}
	if got := strings.Join(paths, " "); got != "ca-key.pem ca.pem gw1-key.pem gw1.pem engine-1-key.pem engine-1.pem" {
		t.Errorf("wrote %s", got)
	}
	if got := names(contents(t, dir)); got != "ca-key.pem ca.pem engine-1-key.pem engine-1.pem gw1-key.pem gw1.pem" {
		t.Errorf("the directory has %s", got)
	}
	id := mustLoad(t, FilesOf(dir, "engine-1"), "prod")
	if left := time.Until(id.Expires()); left > 24*time.Hour || left < 23*time.Hour || !wrote[5].Expires.Equal(id.Expires()) {
		t.Errorf("expires in %s, reported %s", left, wrote[5].Expires)
	}
}

// A certificate may be valid as long as its CA.
func TestCreateForAsLongAsPossible(t *testing.T) {
	dir := t.TempDir()
	wrote := create(t, dir, "prod", CreateOptions{Validity: MaxValidity}, "gw1")
	if id := mustLoad(t, FilesOf(dir, "gw1"), "prod"); !id.Expires().Equal(wrote[1].Expires) {
		t.Errorf("expires at %s, the CA at %s", id.Expires(), wrote[1].Expires)
	}
}

func TestCreateAddsHosts(t *testing.T) {
	dir := t.TempDir()
	create(t, dir, "prod", CreateOptions{Hosts: []string{"llm.example", "10.0.0.7", "::1"}}, "gw1")
	certs, err := readCertificates(FilesOf(dir, "gw1").Cert)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"llm.example", "10.0.0.7", "::1", "prod.troupe.internal"} {
		if err := certs[0].VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
}

// A second call makes further certificates with the same CA, and with Force a new
// certificate for the same key. Nothing else changes.
func TestCreateKeepsWhatIsThere(t *testing.T) {
	dir := made(t, "prod", "gw1")
	before := contents(t, dir)
	create(t, dir, "prod", CreateOptions{}, "gw2")
	_, err := Create(dir, "prod", []string{"gw3", "gw1"}, CreateOptions{})
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "gw1.pem") {
		t.Errorf("the second certificate of a node: %v", err)
	}
	now := contents(t, dir)
	if got := names(now); got != "ca-key.pem ca.pem gw1-key.pem gw1.pem gw2-key.pem gw2.pem" {
		t.Errorf("the directory has %s", got) // gw3 was not begun
	}
	for name, text := range before {
		if now[name] != text {
			t.Errorf("%s has changed", name)
		}
	}
	if wrote := create(t, dir, "prod", CreateOptions{Force: true}, "gw1"); len(wrote) != 1 {
		t.Errorf("renewing writes %v", wrote)
	}
	for name, text := range contents(t, dir) {
		if changed := text != now[name]; changed != (name == "gw1.pem") {
			t.Errorf("%s: changed %v", name, changed)
		}
	}
	for _, node := range []string{"gw1", "gw2"} {
		mustLoad(t, FilesOf(dir, node), "prod")
	}
}

// After an interruption between any two files, the next call finishes the work with
// the files that are there.
func TestCreateGoesOnAfterAnInterruption(t *testing.T) {
	whole := t.TempDir()
	wrote := create(t, whole, "prod", CreateOptions{}, "gw1")
	if len(wrote) != 4 {
		t.Fatalf("wrote %v", wrote)
	}
	for n := range len(wrote) {
		dir := t.TempDir()
		for _, w := range wrote[:n] {
			put(t, filepath.Join(dir, filepath.Base(w.Path)), get(t, w.Path))
		}
		create(t, dir, "prod", CreateOptions{}, "gw1")
		mustLoad(t, FilesOf(dir, "gw1"), "prod")
		for _, w := range wrote[:n] {
			if !bytes.Equal(get(t, filepath.Join(dir, filepath.Base(w.Path))), get(t, w.Path)) {
				t.Errorf("after %d files, %s was written again", n, w.Path)
			}
		}
	}
}

// Programs that make certificates in one directory at the same time make one CA.
func TestCreateAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := Create(dir, "prod", []string{fmt.Sprintf("n%d", i)}, CreateOptions{}); err != nil {
				t.Error(err)
			}
			if _, err := Create(dir, "prod", []string{"same"}, CreateOptions{}); err != nil && !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 8 {
		mustLoad(t, FilesOf(dir, fmt.Sprintf("n%d", i)), "prod")
	}
	mustLoad(t, FilesOf(dir, "same"), "prod")
	if got := contents(t, dir); len(got) != 20 {
		t.Errorf("the directory has %s", names(got))
	}
}

func TestCreateRefuses(t *testing.T) {
	other := made(t, "prod")
	for name, c := range map[string]struct {
		prepare func(dir string)
		cluster string
		nodes   []string
		o       CreateOptions
		want    string
	}{
		"cluster":        {cluster: "a.b", nodes: []string{"gw1"}, want: `"a.b" is not a cluster name`},
		"node":           {nodes: []string{"gw1", "../gw2"}, want: `"../gw2" is not a node name`},
		"a CA's name":    {nodes: []string{"ca"}, want: `"ca" cannot be a node name`},
		"a key's name":   {nodes: []string{"gw1", "gw1-key"}, want: `"gw1-key" cannot be a node name`},
		"twice":          {nodes: []string{"gw1", "gw1"}, want: "node gw1 is given twice"},
		"host":           {nodes: []string{"gw1"}, o: CreateOptions{Hosts: []string{"https://x"}}, want: `"https://x" is not a host name`},
		"cluster's name": {nodes: []string{"gw1"}, o: CreateOptions{Hosts: []string{"other.troupe.internal"}}, want: "is the name of a cluster"},
		"too long":       {nodes: []string{"gw1"}, o: CreateOptions{Validity: MaxValidity + 1}, want: "must be between 1h0m0s and 87600h0m0s"},
		"too short":      {nodes: []string{"gw1"}, o: CreateOptions{Validity: time.Hour - 1}, want: "must be between"},
		"longer than CA": {nodes: []string{"gw1"}, o: CreateOptions{Validity: MaxValidity}, want: "the CA ", prepare: func(dir string) {
			mint(t, dir, "ca", false, func(c *x509.Certificate) { asCA(c, time.Now().Add(MaxValidity-time.Minute)) })
		}},
		"no CA key": {nodes: []string{"gw1"}, want: "ca.pem exists, but its key ", prepare: func(dir string) {
			put(t, FilesOf(dir, "").CA, get(t, FilesOf(other, "").CA))
		}},
		"another CA's key": {nodes: []string{"gw1"}, want: "ca-key.pem is not the key of a CA in ", prepare: func(dir string) {
			create(t, dir, "prod", CreateOptions{})
			put(t, FilesOf(dir, "").CA, get(t, FilesOf(other, "").CA))
		}},
		"damaged CA key": {nodes: []string{"gw1"}, want: "ca-key.pem is not a PEM file", prepare: func(dir string) {
			put(t, filepath.Join(dir, "ca-key.pem"), []byte("x"))
		}},
		"a key in the way": {nodes: []string{"gw1"}, want: "cannot open ", prepare: func(dir string) {
			if err := os.Mkdir(FilesOf(dir, "gw1").Key, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		"a certificate in the way": {nodes: []string{"gw1"}, o: CreateOptions{Force: true}, want: "cannot write ", prepare: func(dir string) {
			if err := os.Mkdir(FilesOf(dir, "gw1").Cert, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.prepare != nil {
				c.prepare(dir)
			}
			before := contents(t, dir)
			if c.cluster == "" {
				c.cluster = "prod"
			}
			wrote, err := Create(dir, c.cluster, c.nodes, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %s", err, c.want)
			}
			after := contents(t, dir)
			if len(after) != len(before)+len(wrote) {
				t.Errorf("wrote %v; the directory has %s", wrote, names(after))
			}
			for name, text := range before {
				if after[name] != text {
					t.Errorf("%s has changed", name)
				}
			}
		})
	}
}

func TestCreateNeedsADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, nil)
	if _, err := Create(file, "prod", []string{"gw1"}, CreateOptions{}); err == nil || !strings.Contains(err.Error(), "cannot make the directory") {
		t.Errorf("%v", err)
	}
}
