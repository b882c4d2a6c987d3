package hub_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"

	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// Whenever it is tried, a repository that is being downloaded is not removed, and the
// download is not harmed.
func TestRemoveBesidePull(t *testing.T) {
	for title, when := range map[string]func(p hub.Progress) bool{
		"before a file":     func(p hub.Progress) bool { return p.File == "model.safetensors" && p.FilesDone == 3 },
		"during a file":     func(p hub.Progress) bool { return p.File == "model.safetensors" && p.Done > 1<<20 },
		"after the files":   func(p hub.Progress) bool { return p.File == "" && p.FilesDone == 4 },
		"during the check":  nil,
		"of a quantisation": func(p hub.Progress) bool { return p.File == "model.safetensors" },
	} {
		repo := little()
		h := hubtest.Start(t, repo)
		opt := options(t, h)
		other, of := hub.New(opt), "org/little"
		if title == "of a quantisation" {
			of = "org/little:Q8_0"
		}
		var once sync.Once
		var refused error
		remove := func() { once.Do(func() { _, refused = other.Remove(name(t, of)) }) }
		if when == nil {
			opt.Check = func(string) error { remove(); return nil }
		} else {
			opt.Progress = func(p hub.Progress) {
				if when(p) {
					remove()
				}
			}
		}
		got, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		wantFiles(t, got.Path, repo, littleFiles...)
		if refused == nil || !strings.Contains(refused.Error(), "org/little is being downloaded; stop the download") {
			t.Errorf("%s, the removal: %v", title, refused)
		}
		if _, err := other.Remove(name(t, "org/little")); err != nil {
			t.Errorf("%s, afterwards: %v", title, err)
		}
		if locks, _ := filepath.Glob(filepath.Join(opt.Cache, ".locks", "models--org--little", "*.lock")); len(locks) != 5 {
			t.Errorf("%s: the locks are %q, want one for each of 4 files and one for all", title, locks)
		}
	}
}

// A program that does not know the lock removes a file: the pull does not succeed.
func TestAFileVanishesDuringPull(t *testing.T) {
	repo := little()
	h := hubtest.Start(t, repo)
	opt := options(t, h)
	opt.Progress = func(p hub.Progress) {
		if p.File == "model.safetensors" {
			os.Remove(filepath.Join(opt.Cache, "models--org--little", "snapshots", repo.Commit, "config.json"))
		}
	}
	_, err := hub.New(opt).Pull(t.Context(), name(t, "org/little"))
	if err == nil || !strings.Contains(err.Error(), "config.json of org/little was removed from the cache during the download") {
		t.Errorf("%v", err)
	}
}

// The Python library downloads to HASH.incomplete or, since a newer version, to
// HASH.RANDOM.incomplete, both under HASH.lock. Then nothing is removed at all.
func TestRemoveBesidePython(t *testing.T) {
	repo := little()
	h := hubtest.Start(t, repo)
	opt := options(t, h)
	c := hub.New(opt)
	if _, err := c.Pull(t.Context(), name(t, "org/little")); err != nil {
		t.Fatal(err)
	}
	hash := strings.Repeat("ab", 32)
	for _, file := range []string{hash + ".incomplete", hash + ".1234abcd.incomplete"} {
		path := filepath.Join(opt.Cache, "models--org--little", "blobs", file)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		lock := flock.New(filepath.Join(opt.Cache, ".locks", "models--org--little", hash+".lock"))
		if ok, err := lock.TryLock(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if _, err := c.Remove(name(t, "org/little")); err == nil || !strings.Contains(err.Error(), "is being downloaded") {
			t.Errorf("%s: %v", file, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if _, err := c.Cached(name(t, "org/little")); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		lock.Close()
		os.Remove(path)
	}
	if _, err := c.Remove(name(t, "org/little")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// What belongs to another quantisation or revision stays.
func TestRemoveAPart(t *testing.T) {
	repo := &hubtest.Repo{Name: "org/q", Files: map[string][]byte{"a-Q4_0.gguf": data("q4", 5000), "a-Q8_0.gguf": data("q8", 3<<20)}}
	h := hubtest.Start(t, repo)
	opt := options(t, h)
	c := hub.New(opt)
	pull := func(text string) {
		t.Helper()
		if _, err := c.Pull(t.Context(), name(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(text string, want int64) {
		t.Helper()
		if freed, err := c.Remove(name(t, text)); err != nil || freed != want {
			t.Errorf("removing %s frees %d bytes, want %d; %v", text, freed, want, err)
		}
	}
	// The beginning of another quantisation.
	pull("org/q:Q4_0")
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := opt
	interrupted.Progress = func(p hub.Progress) {
		if p.Done >= 1<<20 {
			cancel()
		}
	}
	if _, err := hub.New(interrupted).Pull(ctx, name(t, "org/q:Q8_0")); err == nil {
		t.Fatal("the pull was not interrupted")
	}
	remove("org/q:Q4_0", 5000)
	if s, err := c.Show(name(t, "org/q")); err != nil || s.Waiting < 1<<20 {
		t.Errorf("the beginning of the other one: %+v, %v", s, err)
	}
	// Another name of the same commit.
	pull("org/q:Q4_0")
	pull("org/q:Q4_0@HEAD")
	remove("org/q@HEAD", 0)
	if _, err := c.Cached(name(t, "org/q")); err != nil {
		t.Errorf("main: %v", err)
	}
	if _, err := c.Cached(name(t, "org/q@HEAD")); err == nil {
		t.Error("HEAD is still there")
	}
	remove("org/q@main", 5000)
	// A commit by its hash, with all names, but not the file that another commit has.
	first := repo.Commit
	pull("org/q:Q4_0")
	repo.Commit = strings.Repeat("1", 40)
	pull("org/q:Q4_0@HEAD")
	remove("org/q@"+first, 0)
	if _, err := c.Cached(name(t, "org/q:Q4_0@HEAD")); err != nil {
		t.Errorf("HEAD: %v", err)
	}
	if _, err := c.Cached(name(t, "org/q")); err == nil {
		t.Error("main is still there")
	}
}

// A commit can be shortened as git does it. When nothing is left, the directories go, too.
func TestRemoveACommit(t *testing.T) {
	repo := little()
	h := hubtest.Start(t, repo)
	for revision, want := range map[string]string{
		repo.Commit: "", repo.Commit[:7]: "", "main": "",
		repo.Commit[:6]: "does not have org/little@" + repo.Commit[:6], "other": "does not have org/little@other",
	} {
		opt := options(t, h)
		c := hub.New(opt)
		if _, err := c.Pull(t.Context(), name(t, "org/little")); err != nil {
			t.Fatal(err)
		}
		freed, err := c.Remove(name(t, "org/little@"+revision))
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", revision, err)
			}
			continue
		}
		if err != nil || freed < 3<<20 {
			t.Errorf("%s: %d bytes freed, %v", revision, freed, err)
		}
		if _, err := os.Stat(filepath.Join(opt.Cache, "models--org--little")); err == nil {
			t.Errorf("%s: the directory is still there", revision)
		}
	}
}
