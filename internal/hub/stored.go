package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Stored is a repository in the cache.
type Stored struct {
	Name     Name
	Commits  []StoredCommit // newest first
	Bytes    int64          // of all files, each counted once
	Waiting  int64          // bytes of downloads that are not complete
	Weights  bool           // one of the commits has all weights of a model, in a format that is supported
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
	if err := ifThere(err); err != nil {
		return nil, err
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
		if len(s.Commits) > 0 || s.Waiting > 0 { // a removal may leave directories
			all = append(all, *s)
		}
	}
	return all, nil
}

// Show returns what the cache has of a repository. A quantisation or a revision in the name
// has no effect.
func (h *Hub) Show(n Name) (*Stored, error) {
	if err := h.mustBeThere(n); err != nil {
		return nil, err
	}
	s := &Stored{Name: Name{Org: n.Org, Repo: n.Repo}}
	revisions, err := h.cache.revisions(n)
	if err != nil {
		return nil, err
	}
	commits, err := h.cache.commits(n)
	if err != nil {
		return nil, err
	}
	counted := map[string]bool{}
	for _, entry := range commits {
		c, err := h.storedCommit(n, entry, revisions[entry.Name()])
		if err != nil {
			return nil, err
		}
		for _, f := range c.Files {
			if f.Hash == "" || !counted[f.Hash] {
				s.Bytes += f.Size
			}
			counted[f.Hash] = true
		}
		if _, err := h.chosen(s.Name, c.Commit, c.Files); err == nil {
			s.Weights = true
		}
		s.Commits = append(s.Commits, c)
		if c.Modified.After(s.Modified) {
			s.Modified = c.Modified
		}
	}
	slices.SortStableFunc(s.Commits, func(a, b StoredCommit) int { return b.Modified.Compare(a.Modified) })
	blobs, err := h.cache.storedBlobs(n)
	for _, b := range blobs {
		if strings.HasSuffix(b.name, ".incomplete") {
			s.Waiting += b.size
		}
	}
	return s, err
}

func (h *Hub) mustBeThere(n Name) error {
	if _, err := os.Stat(h.cache.repo(n)); err != nil {
		return fmt.Errorf("%s is not in the cache %s; troupe list shows what is there", n.Repository(), h.cache.dir)
	}
	return nil
}

func (h *Hub) storedCommit(n Name, entry fs.DirEntry, revisions []string) (c StoredCommit, err error) {
	c = StoredCommit{Commit: entry.Name(), Revisions: revisions}
	if at, err := entry.Info(); err == nil {
		c.Modified = at.ModTime()
	}
	c.Files, err = h.cache.files(n, c.Commit)
	for _, f := range c.Files {
		c.Bytes += f.Size
	}
	return c, err
}

// storedBlob is a blob or the beginning of one.
type storedBlob struct {
	name, hash string
	size       int64
}

func (c cache) storedBlobs(n Name) (blobs []storedBlob, err error) {
	entries, err := os.ReadDir(c.blobs(n))
	for _, e := range entries {
		at, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // meanwhile complete
			continue
		}
		if err != nil {
			return nil, ifThere(err)
		}
		hash, _, _ := strings.Cut(e.Name(), ".")
		blobs = append(blobs, storedBlob{e.Name(), hash, at.Size()})
	}
	return blobs, ifThere(err)
}
