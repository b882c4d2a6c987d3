package identity

import (
	"fmt"
	"strings"
)

// suffix makes a DNS name of a cluster's name. The domain internal is reserved for
// private use, so no public CA signs such a name.
const suffix = ".troupe.internal"

const (
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" // in names of hosts
	digits  = "0123456789"
	longest = 63 // bytes of a name: a part of a DNS name has no more
)

// DNSName returns the name that the certificates of a cluster have.
func DNSName(clusterName string) string { return clusterName + suffix }

// CheckName refuses cluster names that cannot be a part of a DNS name.
func CheckName(clusterName string) error {
	if !consistsOf(clusterName, lower+digits, "-") {
		return fmt.Errorf("%.80q is not a cluster name; use 1 to 63 lower-case letters, digits and hyphens, with a letter or digit at both ends", clusterName)
	}
	return nil
}

// CheckNode refuses names that the setting node-name refuses. It also refuses those whose
// file would be another one: that of the CA, or the key of another node.
func CheckNode(name string) error {
	switch {
	case !consistsOf(name, lower+digits, "-"):
		return fmt.Errorf("%.80q is not a node name; use 1 to 63 lower-case letters, digits and hyphens, with a letter or digit at both ends", name)
	case name == "ca" || strings.HasSuffix(name, "-key"):
		return fmt.Errorf("%q cannot be a node name, because ca.pem is the CA and files that end in -key.pem are keys; use another name", name)
	}
	return nil
}

// consistsOf reports whether a name of 1 to 63 bytes has only these characters, and
// those of inner only between two others.
func consistsOf(name, outer, inner string) bool {
	n := len(name)
	return n >= 1 && n <= longest && strings.IndexByte(outer, name[0]) >= 0 && strings.IndexByte(outer, name[n-1]) >= 0 &&
		!strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(outer+inner, r) })
}
