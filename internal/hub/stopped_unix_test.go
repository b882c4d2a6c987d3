//go:build unix

package hub_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// A disk that fills up during a download: the error names the cache, what is missing, and
// what to do.
func TestTheDiskFillsUp(t *testing.T) {
	h := hubtest.Start(t, little())
	opt := options(t, h)
	opt.Lock = func(file *flock.Flock, shared bool) (bool, error) {
		if weights := len(filepath.Base(file.Path())) > 64; weights { // the hash is a SHA-256
			return false, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
		}
		return true, nil
	}
	_, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"the disk with " + opt.Cache + " is full, and 3.0 MiB of org/little are still missing; free some space", "set HF_HUB_CACHE", "run the same command again to continue (write x: no space left on device)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v; it lacks %q", err, want)
		}
	}
}

// If the network fails in the middle, the error says that another attempt continues; not if
// nothing has come.
func TestAnotherAttemptContinues(t *testing.T) {
	const text = "; what has been downloaded is kept, so run the same command again to continue"
	for path, want := range map[string]bool{"model.safetensors": true, "config.json": false} {
		h := hubtest.Start(t, little())
		h.SetFault(hubtest.OnFiles(func(c *hubtest.Call) bool {
			return strings.HasSuffix(c.R.URL.Path, path) && hubtest.Status(503, "")(c)
		}))
		_, err := hub.New(options(t, h)).Pull(t.Context(), name(t, "org/little"))
		if err == nil || strings.HasSuffix(err.Error(), text) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
