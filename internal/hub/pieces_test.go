package hub

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// A disk that takes no more bytes ends a download at once, even if the network fails at the
// same time.
func TestAWriteErrorIsNotRepeated(t *testing.T) {
	h := hubtest.Start(t, &hubtest.Repo{Name: "org/one", Files: map[string][]byte{"a.gguf": make([]byte, 2<<20)}})
	h.SetFault(hubtest.OnFiles(hubtest.CutAfter(1000)))
	endpoint, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.incomplete")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path) // for reading
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := &partial{path: path, file: file, want: File{Path: "a.gguf", Size: 2 << 20, Hash: strings.Repeat("0", 64)}}
	if err := p.restart(); err != nil {
		t.Fatal(err)
	}
	waits := 0
	c := New(Options{Environment: Environment{Endpoint: endpoint}, Wait: func(context.Context, time.Duration) error { waits++; return nil }})
	s := &source{hub: c, what: "org/one", address: h.URL + "/org/one/resolve/main/a.gguf"}
	if err := s.fill(t.Context(), p, func(int64) {}); err == nil || !strings.Contains(err.Error(), "the download cannot be written") || waits > 0 {
		t.Errorf("%v, after %d repetitions", err, waits)
	}
}
