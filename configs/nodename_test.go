package configs

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/actors/cluster/identity"
)

func TestNodeNames(t *testing.T) {
	long := strings.Repeat("a", 57)
	for _, c := range []struct{ host, port, want string }{
		{"engine-3", "30100", "engine-3-30100"},
		{"Engine_3.example.internal", "30100", "engine-3-30100"},
		{"GPU Box", "30100", "gpu-box-30100"},
		{"-_-", "30100", "node-30100"},
		{"", "30100", "node-30100"},
		{"host", "", "host"},
		{"", "", "node"},
		{"größe", "1", "gr--e-1"},
		{long + "bcdefg", "30100", long + "-30100"},         // 63 characters
		{long[1:] + "-bcdef", "30100", long[1:] + "-30100"}, // it would be cut after a hyphen
		{strings.Repeat("b", 70), "", strings.Repeat("b", 63)},
	} {
		if got := nodeNameOf(c.host, c.port); got != c.want {
			t.Errorf("host %q, port %q: %q, want %q", c.host, c.port, got, c.want)
		}
	}
}

// A node must not refuse the name that it has made itself.
func TestNodeNamesAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9._-]{0,100}`)).Draw(t, "host")
		port := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[1-9][0-9]{0,4}`)).Draw(t, "port")
		name := nodeNameOf(host, port)
		if errs := nodeName(name); errs != nil || name == "" {
			t.Fatalf("%q: %q", name, errs)
		}
	})
}

// Certificates are made only for names that a node can have.
func TestNamesOfCertificatesAreNamesOfNodes(t *testing.T) {
	names := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9._-]{0,70}`), rapid.StringMatching(`[a-z0-9-]{0,70}`))
	rapid.Check(t, func(t *rapid.T) {
		name := names.Draw(t, "name")
		reserved := name == "ca" || strings.HasSuffix(name, "-key") // names of other files
		if valid := name != "" && nodeName(name) == nil && !reserved; valid != (identity.CheckNode(name) == nil) {
			t.Fatalf("%q: valid %v for node-name; for certificates %v", name, valid, identity.CheckNode(name))
		}
	})
}
