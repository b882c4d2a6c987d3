package hub_test

import (
	"errors"
	"os"
	"path/filepath"
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
