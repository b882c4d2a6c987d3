package hub_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// A file of 1 GiB, checked while it comes, against curl onto the same disk without a check.
func BenchmarkDownload(b *testing.B) {
	const size = 1 << 30
	repo := &hubtest.Repo{Name: "org/big", Files: map[string][]byte{"a.gguf": data("big", size)}}
	h := hubtest.Start(b, repo)
	first := options(b, h)
	if _, err := hub.New(first).Pull(b.Context(), name(b, "org/big")); err != nil { // the hub hashes its file
		b.Fatal(err)
	}
	dir := b.TempDir()
	b.Run("pull", func(b *testing.B) {
		b.SetBytes(size)
		for range b.N {
			opt := options(b, h)
			if _, err := hub.New(opt).Pull(b.Context(), name(b, "org/big")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("curl", func(b *testing.B) {
		b.SetBytes(size)
		for range b.N {
			out, err := exec.Command("curl", "-sfL", "-o", filepath.Join(dir, "curl"), h.URL+"/org/big/resolve/main/a.gguf").CombinedOutput()
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}
