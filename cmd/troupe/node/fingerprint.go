package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cluster/wire"
)

// startHash hashes the weights in the background, as it may read all of them.
func (n *Node) startHash(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if h, err := n.Checkpoint.Hash(ctx); err == nil {
			n.hash.Store(&h)
		}
	}()
	n.stopHash = func() {
		cancel()
		<-done
	}
	n.hashing = done
}

// hashed waits for the hash of the weights: nodes of a cluster compare theirs.
func (n *Node) hashed(ctx context.Context) error {
	select {
	case <-n.hashing:
	case <-ctx.Done():
		return ctx.Err()
	}
	if n.hash.Load() == nil {
		return fmt.Errorf("the weights of the model %s cannot be read to hash them", n.Name)
	}
	return nil
}

// Fingerprint names all that may change a bit of a result: equal ones give equal tokens.
func (n *Node) Fingerprint() string {
	hash := "computing"
	if h := n.hash.Load(); h != nil {
		hash = *h
	}
	return fmt.Sprintf("%s kv=%s weights=%s", n.Device.Info().Fingerprint, n.KVDType, hash)
}

// modelHash is equal for nodes to which the same requests can go; "" outside of a cluster, and
// before the engine is offered.
func (n *Node) modelHash() string {
	if h := n.modelFacts.Load(); h != nil {
		return *h
	}
	return ""
}

// setModelHash follows members, which compares the same facts.
func (n *Node) setModelHash(m *wire.Model) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %d", m.Weights, m.Texts, m.Context, m.Vocab))
	text := hex.EncodeToString(sum[:8])
	n.modelFacts.Store(&text)
}

// fingerprintFor is for answers. It waits for the hash of the weights, which takes less than a
// second; "" if they cannot be read again, or if ctx ends before.
func (n *Node) fingerprintFor(ctx context.Context) string {
	if n.hash.Load() == nil && n.hashing != nil {
		_ = n.hashed(ctx) // the fingerprint is "" then
	}
	return n.shortFingerprint()
}

// shortFingerprint is for reports; "" while the weights are still being hashed.
func (n *Node) shortFingerprint() string {
	if n.hash.Load() == nil {
		return ""
	}
	return httpapi.SystemFingerprint(n.Fingerprint())
}
