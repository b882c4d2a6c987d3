package hub_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// begin leaves the beginning of a file in the cache, as an interrupted download does. It
// returns its path.
func begin(t *testing.T, opt hub.Options, repo string, whole, beginning []byte) (path string) {
	t.Helper()
	sum := sha256.Sum256(whole)
	dir := filepath.Join(opt.Cache, "models--"+strings.ReplaceAll(repo, "/", "--"), "blobs")
	path = filepath.Join(dir, hex.EncodeToString(sum[:])+".incomplete")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(path, beginning, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// one is a hub with a file.
func one(t *testing.T, size int) (h *hubtest.Hub, whole []byte) {
	whole = data("one", size)
	return hubtest.Start(t, &hubtest.Repo{Name: "org/one", Files: map[string][]byte{"a.gguf": whole}}), whole
}

// sent are the bytes that the delivery network has sent.
func sent(h *hubtest.Hub) (sent int64) {
	for _, r := range h.Requests() {
		if r.Host == "cdn" {
			sent += r.Sent
		}
	}
	return sent
}

// A beginning that another program has left is continued. If it turns out to be wrong, the
// file is downloaded once more.
func TestBeginnings(t *testing.T) {
	h, whole := one(t, 2<<20)
	for title, c := range map[string]struct {
		beginning []byte
		sent      int64
	}{
		"half":           {whole[:1<<20], 1 << 20},
		"whole":          {whole, 0},
		"too long":       {append(bytes.Clone(whole), 'x'), 2 << 20},
		"wrong":          {data("two", 1<<20), 1<<20 + 2<<20},
		"wrong as whole": {data("two", 2<<20), 2 << 20},
	} {
		opt := options(t, h)
		begin(t, opt, "org/one", whole, c.beginning)
		var last hub.Progress
		opt.Progress = func(p hub.Progress) { last = p }
		got, err := hub.New(opt).Pull(t.Context(), name(t, "org/one"))
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		if text, err := os.ReadFile(got.Path); err != nil || !bytes.Equal(text, whole) {
			t.Errorf("%s: %d bytes, %v", title, len(text), err)
		}
		if n := sent(h); n != c.sent || got.Loaded != n || last.Done != last.Total {
			t.Errorf("%s: %d bytes were sent and %d counted, want %d; the progress ends with %+v", title, n, got.Loaded, c.sent, last)
		}
	}
}

// The bytes that are there are read with progress, until the pull is cancelled.
func TestCancelWhileABeginningIsRead(t *testing.T) {
	h, whole := one(t, 8<<20)
	opt := options(t, h)
	begin(t, opt, "org/one", whole, whole[:7<<20])
	ctx, cancel := context.WithCancel(t.Context())
	read := int64(0)
	opt.Progress = func(p hub.Progress) {
		if read = p.Done; read > 0 {
			cancel()
		}
	}
	if _, err := hub.New(opt).Pull(ctx, name(t, "org/one")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if read == 0 || read > 2<<20 {
		t.Errorf("%d bytes were read", read)
	}
}

// A server that sends the whole file in place of a range costs nothing of what is there.
func TestAWholeFileInPlaceOfARange(t *testing.T) {
	h, whole := one(t, 4<<20)
	opt := options(t, h)
	path := begin(t, opt, "org/one", whole, whole[:3<<20])
	h.SetFault(func(c *hubtest.Call) bool {
		if c.CDN && c.N > 1 {
			return hubtest.CutAfter(1000)(c)
		}
		return c.CDN && hubtest.WithoutRanges(c)
	})
	if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/one")); err == nil {
		t.Error("the pull succeeds")
	}
	if at, err := os.Stat(path); err != nil || at.Size() < 3<<20 {
		t.Errorf("%v, %v", at, err)
	}
	h.SetFault(hubtest.OnFiles(hubtest.WithoutRanges))
	got, err := hub.New(opt).Pull(t.Context(), name(t, "org/one"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(got.Path); err != nil || !bytes.Equal(text, whole) || got.Loaded > 1<<20 {
		t.Errorf("%d bytes, %d of them loaded; %v", len(text), got.Loaded, err)
	}
}
