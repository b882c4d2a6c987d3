package hub

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files and directories of the cache have the permissions that the umask leaves, as with
// Hugging Face's libraries, because a group may share a cache.

// link gives a blob its name in a commit, which has nothing of use under this name. Where
// the system has no links, the blob itself gets it. The blob's lock must be held.
func (c cache) link(n Name, commit string, f File, symlink func(to, path string) error) error {
	path, blob := c.file(n, commit, f.Path), c.blob(n, f.Hash)
	to, err := filepath.Rel(filepath.Dir(path), blob)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = os.Remove(path) // a link to nothing, or a file of another size
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		if symlink(to, path) == nil {
			return nil
		}
		err = c.place(n, blob, path)
	}
	if err != nil {
		return unwritable(err)
	}
	return nil
}

// place moves a blob. If a commit has a link to it, from a time when links were possible,
// it is copied.
func (c cache) place(n Name, blob, path string) error {
	linked, err := c.linked(n)
	if err != nil {
		return err
	}
	if !linked[filepath.Base(blob)] {
		return os.Rename(blob, path)
	}
	from, err := os.Open(blob)
	if err != nil {
		return err
	}
	defer from.Close()
	return writeWhole(blob+".copy.incomplete", path, from)
}

// setRef writes the commit of a revision.
func (c cache) setRef(n Name, revision, commit string) error {
	if revision == commit {
		return nil
	}
	path := c.ref(n, revision)
	if old, err := os.ReadFile(path); err == nil && string(old) == commit {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil { // not beside the other references, where it would look like one
		err = writeWhole(filepath.Join(c.repo(n), "ref-"+rand.Text()), path, strings.NewReader(commit))
	}
	if err != nil {
		return unwritable(err)
	}
	return nil
}

// writeWhole replaces a file at once, by way of a temporary one on the same disk. Its
// content is on the disk before it has the name, so a power cut leaves no empty file.
func writeWhole(temporary, path string, content io.Reader) error {
	f, err := os.Create(temporary)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temporary))
	}
	return err
}
