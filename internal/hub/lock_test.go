package hub_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// Without locks in the file system, everything works, with one warning.
func TestWithoutLocks(t *testing.T) {
	for _, cause := range []error{syscall.ENOSYS, syscall.ENOTSUP} {
		repo := little()
		h := hubtest.Start(t, repo)
		opt := options(t, h)
		var warned []string
		opt.Warn = func(text string) { warned = append(warned, text) }
		opt.Lock = func(*flock.Flock, bool) (bool, error) {
			return false, &fs.PathError{Op: "flock", Path: "x", Err: cause}
		}
		c := hub.New(opt)
		got, err := c.Pull(t.Context(), name(t, "org/little"))
		if err != nil {
			t.Fatalf("%v: %v", cause, err)
		}
		wantFiles(t, got.Path, repo, littleFiles...)
		if _, err := c.Remove(name(t, "org/little")); err != nil {
			t.Errorf("%v: %v", cause, err)
		}
		if len(warned) != 1 || !strings.Contains(warned[0], "has no locks") {
			t.Errorf("%v: the warnings are %q", cause, warned)
		}
	}
}

// A lock that fails for another reason ends a download, but a complete model needs none: it
// may be on a disk that is full or can only be read.
func TestALockThatFails(t *testing.T) {
	h := hubtest.Start(t, little())
	opt := options(t, h)
	broken := opt
	broken.Lock = func(*flock.Flock, bool) (bool, error) { return false, errors.New("no room for locks") }
	c := hub.New(broken)
	if _, err := c.Pull(t.Context(), name(t, "org/little")); err == nil || !strings.Contains(err.Error(), "no room for locks") {
		t.Errorf("%v", err)
	}
	if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/little")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Pull(t.Context(), name(t, "org/little")); err != nil {
		t.Errorf("a complete model: %v", err)
	}
	if _, err := c.Remove(name(t, "org/little")); err == nil || !strings.Contains(err.Error(), "no room for locks") {
		t.Errorf("removing: %v", err)
	}
}

// Pulls share a repository's lock: two that need different files go on side by side.
func TestPullsShareTheLock(t *testing.T) {
	h := hubtest.Start(t, &hubtest.Repo{Name: "org/q", Files: map[string][]byte{"a-Q4_0.gguf": data("q4", 5000), "a-Q8_0.gguf": data("q8", 6000)}})
	opt := options(t, h)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	inner := errors.New("the other pull did not run")
	outer := opt
	outer.Progress = func(p hub.Progress) {
		if p.File != "" && p.Done == 0 {
			_, inner = hub.New(opt).Pull(ctx, name(t, "org/q:Q8_0"))
		}
	}
	_, err := hub.New(outer).Pull(t.Context(), name(t, "org/q:Q4_0"))
	if err != nil || inner != nil {
		t.Errorf("%v; inside: %v", err, inner)
	}
}

// Whoever waits for another process is told so, once for each file.
func TestWaitingIsSaid(t *testing.T) {
	h, _ := one(t, 5000)
	opt := options(t, h)
	tries, warned := 0, []string(nil)
	opt.Lock = func(_ *flock.Flock, shared bool) (bool, error) {
		if !shared {
			tries++
		}
		return shared || tries > 15, nil
	}
	opt.Warn = func(text string) { warned = append(warned, text) }
	_, err := hub.New(opt).Pull(t.Context(), name(t, "org/one"))
	if err != nil || len(warned) != 1 || !strings.HasPrefix(warned[0], "another process is downloading a.gguf of org/one. Waiting for it") {
		t.Errorf("%v, the warnings are %q", err, warned)
	}
}
