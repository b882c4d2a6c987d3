package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Stored is a repository in the cache.
type Stored struct {
	Name     Name
	Commits  []StoredCommit // newest first
	Bytes    int64          // of all files, each counted once
	Waiting  int64          // bytes of downloads that are not complete
	Modified time.Time
}

// StoredCommit is a commit of a repository in the cache.
type StoredCommit struct {
	Commit    string
	Revisions []string // branches and tags that point to it
	Files     []File
	Bytes     int64
	Modified  time.Time
}

// List returns what the cache has, by name.
func (h *Hub) List() ([]Stored, error) {
	entries, err := os.ReadDir(h.cache.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the cache cannot be read: %w", err)
	}
	var all []Stored
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), folderPrefix)
		if !ok || !e.IsDir() {
			continue
		}
		n, err := Parse(strings.Replace(name, "--", "/", 1))
		if err != nil { // a repository without an organisation, from another program
			continue
		}
		s, err := h.Show(n)
		if err != nil {
			return nil, err
		}
		all = append(all, *s)
	}
	return all, nil
}

// Show returns what the cache has of a repository. A quantisation or a revision in the name
// has no effect.
func (h *Hub) Show(n Name) (*Stored, error) {
	repo := h.cache.repo(n)
	if _, err := os.Stat(repo); err != nil {
		return nil, fmt.Errorf("%s is not in the cache %s; troupe list shows what is there", n.Repository(), h.cache.dir)
	}
	s := &Stored{Name: Name{Org: n.Org, Repo: n.Repo}}
	revisions, err := h.cache.revisions(n)
	if err != nil {
		return nil, err
	}
	commits, err := os.ReadDir(filepath.Join(repo, "snapshots"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the cache cannot be read: %w", err)
	}
	counted := map[string]bool{}
	for _, entry := range commits {
		if !entry.IsDir() {
			continue
		}
		c := StoredCommit{Commit: entry.Name(), Revisions: revisions[entry.Name()]}
		if c.Files, err = h.cache.files(n, c.Commit); err != nil {
			return nil, fmt.Errorf("the cache cannot be read: %w", err)
		}
		if at, err := entry.Info(); err == nil {
			c.Modified = at.ModTime()
		}
		for _, f := range c.Files {
			c.Bytes += f.Size
			if f.Hash == "" || !counted[f.Hash] {
				s.Bytes += f.Size
			}
			counted[f.Hash] = true
		}
		s.Commits = append(s.Commits, c)
		if c.Modified.After(s.Modified) {
			s.Modified = c.Modified
		}
	}
	slices.SortStableFunc(s.Commits, func(a, b StoredCommit) int { return b.Modified.Compare(a.Modified) })
	parts, _ := filepath.Glob(filepath.Join(repo, "blobs", "*.incomplete"))
	for _, part := range parts {
		if at, err := os.Stat(part); err == nil {
			s.Waiting += at.Size()
		}
	}
	return s, nil
}

// revisions lists branches and tags by commit.
func (c cache) revisions(n Name) (map[string][]string, error) {
	all, root := map[string][]string{}, filepath.Join(c.repo(n), "refs")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if commit := c.commitOf(n, name); commit != "" {
			all[commit] = append(all[commit], name)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return all, err
}

// Remove deletes a repository from the cache or, if the name has a quantisation or a
// revision, that part of it. It returns how many bytes became free. Files that another
// commit uses stay.
func (h *Hub) Remove(n Name) (freed int64, err error) {
	s, err := h.Show(n)
	if err != nil {
		return 0, err
	}
	found := false
	for _, c := range s.Commits {
		if n.Revision != "" && c.Commit != n.Revision && !slices.Contains(c.Revisions, n.Revision) {
			continue
		}
		gone := c.Files
		if n.Quant != "" {
			m, err := chooseGGUF(n, ggufs(c.Files))
			if err != nil {
				continue
			}
			gone = m.parts
		}
		found = true
		for _, f := range gone {
			if err := os.Remove(filepath.Join(h.cache.snapshot(n, c.Commit), filepath.FromSlash(f.Path))); err != nil {
				return freed, fmt.Errorf("the cache cannot be written: %w", err)
			}
			if f.Hash == "" {
				freed += f.Size
			}
		}
		if len(gone) == len(c.Files) {
			err := os.RemoveAll(h.cache.snapshot(n, c.Commit))
			for _, revision := range c.Revisions {
				err = errors.Join(err, os.Remove(h.cache.ref(n, revision)))
			}
			if err != nil {
				return freed, fmt.Errorf("the cache cannot be written: %w", err)
			}
		}
	}
	whole := n.Quant == "" && n.Revision == ""
	if !found && !whole {
		return 0, fmt.Errorf("the cache %s does not have %s; troupe show %s lists what it has", h.cache.dir, n, n.Repository())
	}
	more, err := h.sweep(n)
	freed += more
	if err == nil && whole {
		err = errors.Join(os.RemoveAll(h.cache.repo(n)), os.RemoveAll(filepath.Dir(h.cache.lock(n, ""))))
	}
	return freed, err
}

// sweep deletes the blobs that no commit uses. One that is being downloaded is an error.
func (h *Hub) sweep(n Name) (freed int64, err error) {
	s, err := h.Show(n)
	if err != nil {
		return 0, err
	}
	used := map[string]bool{}
	for _, c := range s.Commits {
		for _, f := range c.Files {
			used[f.Hash] = true
		}
	}
	blobs, err := os.ReadDir(filepath.Join(h.cache.repo(n), "blobs"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the cache cannot be read: %w", err)
	}
	for _, b := range blobs {
		hash := strings.TrimSuffix(b.Name(), ".incomplete")
		if used[b.Name()] {
			continue
		}
		size, failed := h.removeBlob(n, b.Name(), hash)
		freed, err = freed+size, errors.Join(err, failed)
	}
	return freed, err
}

func (h *Hub) removeBlob(n Name, name, hash string) (int64, error) {
	path := h.cache.lock(n, hash)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return 0, fmt.Errorf("the cache cannot be written: %w", err)
	}
	lock := flock.New(path)
	if free, err := lock.TryLock(); err != nil || !free {
		return 0, fmt.Errorf("a file of %s is being downloaded; stop the download or wait for it, then run troupe rm again", n.Repository())
	}
	defer lock.Close()
	blob := h.cache.blob(n, name)
	at, err := os.Stat(blob)
	if err == nil {
		err = os.Remove(blob)
	}
	if err != nil {
		return 0, fmt.Errorf("the cache cannot be written: %w", err)
	}
	return at.Size(), nil
}
