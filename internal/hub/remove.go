package hub

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// removal is what Remove deletes.
type removal struct {
	names     []string        // files and links in commits, and references
	snapshots []string        // directories of commits of which nothing stays
	plain     int64           // bytes of those files that are no links
	hashes    map[string]bool // of the blobs behind links
}

// Remove deletes a repository from the cache or, if the name has a quantisation or a
// revision, that part of it. It returns how many bytes became free. Files that another
// commit uses stay. While one of the files is being downloaded, nothing is removed.
func (h *Hub) Remove(n Name) (freed int64, err error) {
	if err := h.mustBeThere(n); err != nil {
		return 0, err
	}
	unlock, err := h.alone(n, h.cache.lockOfAll(n))
	if err != nil {
		return 0, err
	}
	defer unlock()
	s, err := h.Show(n)
	if err != nil {
		return 0, err
	}
	if n.Revision, err = s.whole(n.Revision); err != nil {
		return 0, err
	}
	whole := n.Quant == "" && n.Revision == ""
	r, err := h.removal(n, s)
	if err != nil && !whole {
		return 0, err
	}
	blobs, err := h.cache.storedBlobs(n)
	if err != nil {
		return 0, err
	}
	blobs = slices.DeleteFunc(blobs, func(b storedBlob) bool { return !whole && !r.hashes[b.hash] })
	unlock, err = h.aloneOnBlobs(n, blobs)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if freed, err = h.remove(n, r, blobs); err == nil && whole {
		err = os.RemoveAll(h.cache.repo(n))
	}
	if !whole {
		h.cache.removeEmpty(n)
	}
	if err != nil {
		return freed, fmt.Errorf("cannot remove all of %s from the cache: %w", n, err)
	}
	return freed, nil
}

// whole completes a shortened commit, of at least 7 digits as git prints them.
func (s *Stored) whole(revision string) (string, error) {
	found := ""
	for _, c := range s.Commits {
		switch {
		case slices.Contains(c.Revisions, revision):
			return revision, nil
		case len(revision) < 7 || !strings.HasPrefix(c.Commit, revision):
		case found != "":
			return "", fmt.Errorf("%s has several commits that begin with %s; write more of the commit", s.Name, revision)
		default:
			found = c.Commit
		}
	}
	return cmp.Or(found, revision), nil
}

// removeEmpty removes the directories of a repository of which nothing is left. Those that
// are not empty stay.
func (c cache) removeEmpty(n Name) {
	for _, dir := range []string{filepath.Join(c.repo(n), "snapshots"), c.blobs(n), filepath.Join(c.repo(n), "refs"), c.repo(n)} {
		_ = os.Remove(dir)
	}
}

// removal finds what belongs to a name.
func (h *Hub) removal(n Name, s *Stored) (*removal, error) {
	r := &removal{hashes: map[string]bool{}}
	found, why := false, errors.New("troupe show lists what it has")
	for _, c := range s.Commits {
		named := slices.Contains(c.Revisions, n.Revision)
		if n.Revision != "" && c.Commit != n.Revision && !named {
			continue
		}
		if named && n.Quant == "" && len(c.Revisions) > 1 { // the other ones keep the files
			r.names, found = append(r.names, h.cache.ref(n, n.Revision)), true
			continue
		}
		files := c.Files
		if n.Quant != "" {
			m, err := chooseGGUF(n, ggufs(c.Files))
			if err != nil {
				why = err
				continue
			}
			files = m.parts
		}
		h.addFiles(r, n, c, files)
		found = true
	}
	if !found {
		return r, fmt.Errorf("the cache %s does not have %s: %w", h.cache.dir, n, why)
	}
	return r, nil
}

func (h *Hub) addFiles(r *removal, n Name, c StoredCommit, files []File) {
	for _, f := range files {
		r.names = append(r.names, h.cache.file(n, c.Commit, f.Path))
		if f.Hash == "" {
			r.plain += f.Size
		} else {
			r.hashes[f.Hash] = true
		}
	}
	if len(files) < len(c.Files) {
		return
	}
	r.snapshots = append(r.snapshots, h.cache.snapshot(n, c.Commit))
	for _, revision := range c.Revisions {
		r.names = append(r.names, h.cache.ref(n, revision))
	}
}

// remove deletes names first, then those of the blobs that no commit has a link to.
func (h *Hub) remove(n Name, r *removal, blobs []storedBlob) (freed int64, err error) {
	for _, name := range r.names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	for _, dir := range r.snapshots {
		if err := os.RemoveAll(dir); err != nil {
			return r.plain, err
		}
	}
	linked, err := h.cache.linked(n)
	if err != nil {
		return r.plain, err
	}
	freed = r.plain
	for _, b := range blobs {
		if linked[b.hash] {
			continue
		}
		if err := os.Remove(h.cache.blob(n, b.name)); err != nil {
			return freed, err
		}
		freed += b.size
	}
	return freed, nil
}

// alone takes a lock, which a download holds as well.
func (h *Hub) alone(n Name, lock string) (unlock func(), err error) {
	unlock, err = h.tryLock(lock, false)
	if unlock == nil && err == nil {
		err = fmt.Errorf("%s is being downloaded; stop the download or wait for it, then run troupe rm again", n.Repository())
	}
	return unlock, err
}

// aloneOnBlobs takes the locks that other programs take for the download of a blob.
func (h *Hub) aloneOnBlobs(n Name, blobs []storedBlob) (unlock func(), err error) {
	held := map[string]func(){}
	unlock = func() {
		for _, one := range held {
			one()
		}
	}
	for _, b := range blobs {
		if held[b.hash] != nil {
			continue
		}
		one, err := h.alone(n, h.cache.lock(n, b.hash))
		if err != nil {
			unlock()
			return nil, err
		}
		held[b.hash] = one
	}
	return unlock, nil
}
