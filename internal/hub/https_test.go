package hub_test

import (
	"crypto/x509"
	"os"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// A server with https prefers HTTP/2, as that of Hugging Face does. Lists, redirects and
// ranges work, and a download that was interrupted continues.
func TestHTTPS(t *testing.T) {
	repo := little()
	h := hubtest.StartTLS(t, repo)
	opt := options(t, h)
	opt.Roots = x509.NewCertPool()
	opt.Roots.AddCert(h.Certificate)
	weights := repo.Files["model.safetensors"]
	begin(t, opt, "org/little", weights, weights[:1<<20])
	got, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, got.Path, repo, littleFiles...)
	sent := int64(0)
	for _, r := range h.Requests() {
		if r.Host == "cdn" && strings.HasPrefix(r.Range, "bytes=") {
			sent += r.Sent
		}
	}
	if want := int64(len(repo.Files["tokenizer.json"]) + len(weights) - 1<<20); sent != want {
		t.Errorf("%d bytes came in ranges, want %d", sent, want)
	}
	// A server that nobody has certified is refused.
	opt.Roots, opt.Cache = nil, t.TempDir()
	if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/little")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the certificate: %v", err)
	}
	if entries, err := os.ReadDir(opt.Cache); err != nil || len(entries) > 0 {
		t.Errorf("without the certificate, the cache has %v, %v", entries, err)
	}
}
