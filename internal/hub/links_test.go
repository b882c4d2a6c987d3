package hub_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// Without links, files lie in the commit's directory, and every operation works.
func TestWithoutLinks(t *testing.T) {
	repo := little()
	h := hubtest.Start(t, repo)
	opt := options(t, h)
	opt.Link = func(string, string) error { return errors.New("a required privilege is not held by the client") }
	c := hub.New(opt)
	var both sync.WaitGroup
	var loaded [2]int64
	var want int64
	for i := range loaded {
		both.Go(func() {
			got, err := c.Pull(t.Context(), name(t, "org/little"))
			if err != nil {
				t.Error(err)
				return
			}
			loaded[i] = got.Loaded
		})
	}
	both.Wait()
	got, err := c.Cached(name(t, "org/little"))
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, got.Path, repo, littleFiles...)
	if want = got.Bytes; loaded[0]+loaded[1] != want {
		t.Errorf("two pulls downloaded %d bytes of %d", loaded, want)
	}
	for _, path := range littleFiles {
		at, err := os.Lstat(filepath.Join(got.Path, path))
		if err != nil || !at.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", path, at, err)
		}
	}
	h.Requests()
	if again, err := c.Pull(t.Context(), name(t, "org/little")); err != nil || again.Loaded != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if all, err := c.List(); err != nil || len(all) != 1 || all[0].Bytes != want {
		t.Errorf("%+v, %v", all, err)
	}
	if freed, err := c.Remove(name(t, "org/little")); err != nil || freed != want {
		t.Errorf("removing frees %d of %d, %v", freed, want, err)
	}
}

// A file that an older commit has a link to, from a time when there were links, stays for it.
func TestLinksThatAreGone(t *testing.T) {
	repo := little()
	h := hubtest.Start(t, repo)
	opt := options(t, h)
	if _, err := hub.New(opt).Pull(t.Context(), name(t, "org/little")); err != nil {
		t.Fatal(err)
	}
	first := repo.Commit
	repo.Commit = strings.Repeat("1", 40)
	h.Requests()
	opt.Link = func(string, string) error { return errors.New("no links") }
	c := hub.New(opt)
	if got, err := c.Pull(t.Context(), name(t, "org/little")); err != nil || got.Loaded != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, of := range []string{"org/little", "org/little@" + first} {
		got, err := c.Cached(name(t, of))
		if err != nil {
			t.Errorf("%s: %v", of, err)
			continue
		}
		wantFiles(t, got.Path, repo, littleFiles...)
	}
	if s, err := c.Show(name(t, "org/little")); err != nil || s.Waiting != 0 {
		t.Errorf("what is left: %+v, %v", s, err)
	}
}

// A link to nothing, and a file of the wrong size, are replaced.
func TestDamagedNamesAreMended(t *testing.T) {
	repo := little()
	h := hubtest.Start(t, repo)
	opt := options(t, h)
	c := hub.New(opt)
	got, err := c.Pull(t.Context(), name(t, "org/little"))
	if err != nil {
		t.Fatal(err)
	}
	weights, config := filepath.Join(got.Path, "model.safetensors"), filepath.Join(got.Path, "config.json")
	blob, err := filepath.EvalSymlinks(weights)
	if err == nil {
		err = errors.Join(os.Remove(blob), os.Remove(config), os.WriteFile(config, []byte("{"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Pull(t.Context(), name(t, "org/little"))
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, got.Path, repo, littleFiles...)
	if size := int64(len(repo.Files["model.safetensors"])); again.Loaded != size {
		t.Errorf("%d bytes were downloaded, want the weights' %d", again.Loaded, size)
	}
}
