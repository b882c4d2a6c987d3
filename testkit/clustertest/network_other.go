//go:build !linux

package clustertest

import (
	"errors"
	"testing"
)

// Network and Place are for Linux only.
type (
	Network struct{ Address string }
	Place   struct{ Address string }
)

// Isolated skips the test: network namespaces are Linux's.
func Isolated(t *testing.T) *Network {
	t.Helper()
	t.Skip("links cannot be cut without a reset here: network namespaces need Linux")
	return nil
}

func (n *Network) place(testing.TB, string) *Place { return nil }
func (p *Place) run(f func() error) error          { return f() }

var errNamespaces = errors.New("network namespaces need Linux")

func (p *Place) Cut() error  { return errNamespaces }
func (p *Place) Mend() error { return errNamespaces }
