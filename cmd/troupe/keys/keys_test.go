package keys

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/configs"
)

// The printed entry opens a server to the printed key, and does not contain it.
func TestANewKeyFitsItsEntry(t *testing.T) {
	for _, admin := range []bool{false, true} {
		c := New()
		var out, err bytes.Buffer
		c.SetOut(&out)
		c.SetErr(&err)
		args := []string{"new", "ann"}
		if admin {
			args = append(args, "--admin")
		}
		c.SetArgs(args)
		if failed := c.Execute(); failed != nil {
			t.Fatal(failed)
		}
		_, key, found := strings.Cut(strings.TrimSpace(err.String()), "once: ")
		if !found || len(key) < 32 || strings.Contains(out.String(), key) {
			t.Fatalf("printed %q and %q", err.String(), out.String())
		}
		keys, failed := configs.ParseKeys(append([]byte("keys:\n"), out.Bytes()...))
		if failed != nil || len(keys) != 1 || keys[0].Name != "ann" || keys[0].Admin != admin || keys[0].Digest != sha256.Sum256([]byte(key)) {
			t.Errorf("%+v, %v", keys, failed)
		}
	}
}

func TestAnUnknownCommandIsAnError(t *testing.T) {
	c := New()
	c.SetOut(&bytes.Buffer{})
	c.SetErr(&bytes.Buffer{})
	c.SetArgs([]string{"nwe"})
	if err := c.Execute(); err == nil || !strings.Contains(err.Error(), `unknown command "nwe"`) {
		t.Error(err)
	}
}

func TestNamesOfKeys(t *testing.T) {
	for _, args := range [][]string{{"new"}, {"new", "a", "b"}, {"new", "a b"}, {"new", ""}} {
		c := New()
		c.SetOut(&bytes.Buffer{})
		c.SetErr(&bytes.Buffer{})
		c.SetArgs(args)
		if err := c.Execute(); err == nil || !strings.Contains(err.Error(), "name") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
