package identity

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLoadTakesWhatCreateMakes(t *testing.T) {
	dir := made(t, "prod", "gw1")
	id := mustLoad(t, FilesOf(dir, "gw1"), "prod")
	if left := time.Until(id.Expires()); left < DefaultValidity-time.Hour || left > DefaultValidity {
		t.Errorf("%s are left of a year", left)
	}
}

// What a file has beside its certificates, and the order of CAs, do not matter.
func TestLoadTakesFilesOfOtherTools(t *testing.T) {
	dir, other := made(t, "prod", "gw1"), made(t, "prod")
	files, _ := mint(t, dir, "two", true, func(c *x509.Certificate) {
		c.DNSNames = []string{"host.example", "test.troupe.internal", "prod.troupe.internal"}
		c.ExtKeyUsage = nil // any
	})
	put(t, files.CA, slices.Concat([]byte("the old CA\n"), get(t, FilesOf(other, "").CA), []byte("the new CA\n"), get(t, files.CA)))
	put(t, files.Key, slices.Concat(get(t, files.Cert), get(t, files.Key)))
	for _, cluster := range []string{"prod", "test"} {
		if _, err := Load(files, cluster); err != nil {
			t.Errorf("cluster %s: %v", cluster, err)
		}
	}
}

// A chain with an intermediate CA; it expires with the first of its certificates.
func TestLoadTakesAChain(t *testing.T) {
	dir := made(t, "prod")
	root, err := readCertificates(FilesOf(dir, "").CA)
	if err != nil {
		t.Fatal(err)
	}
	// An intermediate CA of a root that allows one.
	below := t.TempDir()
	mint(t, below, "root", false, func(c *x509.Certificate) { asCA(c, root[0].NotAfter) })
	move(t, filepath.Join(below, "root.pem"), filepath.Join(below, "ca.pem"))
	move(t, filepath.Join(below, "root-key.pem"), filepath.Join(below, "ca-key.pem"))
	soon := time.Now().Add(48 * time.Hour).Truncate(time.Second)
	middle, _ := mint(t, below, "middle", true, func(c *x509.Certificate) { asCA(c, soon) })
	top := get(t, middle.CA)
	move(t, middle.Cert, filepath.Join(below, "ca.pem"))
	move(t, middle.Key, filepath.Join(below, "ca-key.pem"))
	leaf, _ := mint(t, below, "gw1", true, func(*x509.Certificate) {})
	put(t, leaf.Cert, slices.Concat(get(t, leaf.Cert), get(t, leaf.CA)))
	put(t, leaf.CA, top)
	id := mustLoad(t, leaf, "prod")
	if !id.Expires().Equal(soon) {
		t.Errorf("expires at %s, the intermediate CA at %s", id.Expires(), soon)
	}
}

func asCA(c *x509.Certificate, end time.Time) {
	c.IsCA, c.BasicConstraintsValid, c.NotAfter, c.ExtKeyUsage, c.KeyUsage = true, true, end, nil, x509.KeyUsageCertSign
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// Every error names the setting, the file, and what to do.
func TestLoadRefuses(t *testing.T) {
	base := made(t, "prod", "gw1", "gw2")
	other := made(t, "prod", "gw1")
	create(t, base, "test", CreateOptions{}, "tester")
	bad := func(name string, sign bool, change func(*x509.Certificate)) Files {
		files, _ := mint(t, base, name, sign, change)
		return files
	}
	file := func(name string, text []byte) string {
		path := filepath.Join(base, name)
		put(t, path, text)
		return path
	}
	good := FilesOf(base, "gw1")
	with := func(f Files, change func(*Files)) Files { change(&f); return f }
	cut := get(t, good.CA)
	der := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})
	old := t.TempDir()
	mint(t, old, "ca", false, func(c *x509.Certificate) {
		asCA(c, time.Now().Add(-time.Minute))
		c.Subject.CommonName = "the old CA"
	})
	oldSigned, _ := mint(t, old, "gw1", true, func(*x509.Certificate) {})

	for name, c := range map[string]struct {
		files   Files
		cluster string // "": prod
		want    []string
	}{
		"a setting is missing": {with(good, func(f *Files) { f.Key = "" }), "", []string{"set all of cluster-tls-ca, cluster-tls-cert and cluster-tls-key"}},
		"cluster name":         {good, "Prod_1", []string{"cluster-name: ", `"Prod_1"`, "lower-case letters"}},
		"no CA":                {with(good, func(f *Files) { f.CA = "/no/ca.pem" }), "", []string{"cluster-tls-ca: cannot open /no/ca.pem: ", "`troupe cluster certs`"}},
		"no certificate":       {with(good, func(f *Files) { f.Cert = "/no/gw1.pem" }), "", []string{"cluster-tls-cert: cannot open /no/gw1.pem: "}},
		"no key":               {with(good, func(f *Files) { f.Key = "/no/gw1-key.pem" }), "", []string{"cluster-tls-key: cannot open /no/gw1-key.pem: "}},
		"a directory":          {with(good, func(f *Files) { f.Key = base }), "", []string{"cluster-tls-key: cannot open " + base + ": "}},
		"not PEM":              {with(good, func(f *Files) { f.Cert = file("x.pem", []byte("hello")) }), "", []string{"cluster-tls-cert: ", "x.pem is not a PEM file"}},
		"empty":                {with(good, func(f *Files) { f.CA = file("y.pem", nil) }), "", []string{"cluster-tls-ca: ", "y.pem is not a PEM file"}},
		"too large":            {with(good, func(f *Files) { f.CA = file("z.pem", make([]byte, maxFile+1)) }), "", []string{"more than 1024 KiB"}},
		"a key as certificate": {with(good, func(f *Files) { f.Cert = good.Key }), "", []string{"cluster-tls-cert: " + good.Key + " has no certificate"}},
		"a certificate as key": {with(good, func(f *Files) { f.Key = good.Cert }), "", []string{"cluster-tls-key: " + good.Cert + " has no private key"}},
		"the CA is cut off":    {with(good, func(f *Files) { f.CA = file("cut.pem", slices.Concat(cut, cut[:len(cut)/2])) }), "", []string{"cut.pem is damaged or incomplete"}},
		"damaged":              {with(good, func(f *Files) { f.Cert = file("d.pem", der) }), "", []string{"d.pem has a damaged certificate: "}},
		"damaged key": {with(good, func(f *Files) {
			f.Key = file("k.pem", bytes.ReplaceAll(der, []byte("CERTIFICATE"), []byte("PRIVATE KEY")))
		}), "", []string{"k.pem has a damaged key: "}},
		"encrypted key": {with(good, func(f *Files) {
			f.Key = file("e.pem", bytes.ReplaceAll(der, []byte("CERTIFICATE"), []byte("ENCRYPTED PRIVATE KEY")))
		}), "", []string{"e.pem is encrypted; decrypt it"}},
		"key of another":       {with(good, func(f *Files) { f.Key = FilesOf(base, "gw2").Key }), "", []string{"gw2-key.pem is not the key of the first certificate in cluster-tls-cert " + good.Cert}},
		"other CA":             {with(good, func(f *Files) { f.CA = FilesOf(other, "").CA }), "", []string{"cluster-tls-cert: the certificate " + good.Cert + " is not signed by the CA in " + FilesOf(other, "").CA, "the same CA"}},
		"not a CA":             {with(good, func(f *Files) { f.CA = good.Cert }), "", []string{"cluster-tls-ca: ", `"gw1"`, "does not belong to a CA"}},
		"other cluster":        {FilesOf(base, "tester"), "", []string{`is for cluster "test", but this node belongs to cluster "prod"`}},
		"other cluster's name": {good, "test", []string{`is for cluster "prod", but this node belongs to cluster "test"`}},
		"no cluster":           {bad("host", true, func(c *x509.Certificate) { c.DNSNames = []string{"gw1.example"} }), "", []string{"does not name a cluster", "prod.troupe.internal"}},
		"every cluster":        {bad("wild", true, func(c *x509.Certificate) { c.DNSNames = []string{"*.troupe.internal"} }), "", []string{`is for cluster "*"`}},
		"expired":              {bad("old", true, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "", []string{"cluster-tls-cert: ", "old.pem expired on 20", "renew it with `troupe cluster certs --force`"}},
		"not valid yet":        {bad("new", true, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }), "", []string{"new.pem is not valid before 20", "check the clocks"}},
		"self-signed":          {bad("self", false, func(*x509.Certificate) {}), "", []string{"self.pem is not signed by the CA in " + good.CA}},
		"for servers only":     {bad("server", true, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }), "", []string{"server.pem is not for both servers and clients"}},
		"for clients only":     {bad("client", true, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }), "", []string{"client.pem is not for both servers and clients"}},
		"the CA has expired":   {oldSigned, "", []string{`was signed by the CA "the old CA", which is only valid from `, "make a new CA"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := c.cluster
			if cluster == "" {
				cluster = "prod"
			}
			_, err := Load(c.files, cluster)
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
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"prod": true, "a": true, "0": true, "eu-1": true, strings.Repeat("a", 63): true,
		"": false, "-a": false, "a-": false, "A": false, "a.b": false, "a_b": false, "é": false, "a\x00b": false, "a b": false, strings.Repeat("a", 64): false, "*": false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("cluster %q: %v", name, err)
		}
	}
	for name, ok := range map[string]bool{
		"gw1": true, "GPU1": false, "gpu_1": false, "gpu.1": false, "caller": true, "key": true, strings.Repeat("a", 63): true,
		"": false, "ca": false, "CA": false, "ca-key": false, "gw1-key": false, "gw1-KEY": false, "../x": false, "a/b": false, ".a": false, "a.": false, "ü": false, strings.Repeat("a", 64): false,
	} {
		if err := CheckNode(name); (err == nil) != ok {
			t.Errorf("node %q: %v", name, err)
		}
	}
	if got := DNSName("prod"); got != "prod.troupe.internal" {
		t.Errorf("DNSName is %q", got)
	}
}
