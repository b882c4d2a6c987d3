package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// cache is the directory of Hugging Face's libraries:
//
//	models--ORG--REPO/blobs/HASH                a file of any commit
//	models--ORG--REPO/blobs/HASH.incomplete     its beginning
//	models--ORG--REPO/snapshots/COMMIT/PATH     a link to the blob; without links the file itself
//	models--ORG--REPO/refs/REVISION             the commit of a branch or tag
//	.locks/models--ORG--REPO/HASH.lock          held while a blob is written
type cache struct{ dir string }

const folderPrefix = "models--"

func folder(n Name) string { return folderPrefix + n.Org + "--" + n.Repo }

func (c cache) repo(n Name) string { return filepath.Join(c.dir, folder(n)) }

func (c cache) snapshot(n Name, commit string) string {
	return filepath.Join(c.repo(n), "snapshots", commit)
}

func (c cache) blob(n Name, hash string) string { return filepath.Join(c.repo(n), "blobs", hash) }

func (c cache) ref(n Name, revision string) string {
	return filepath.Join(c.repo(n), "refs", filepath.FromSlash(revision))
}

func (c cache) lock(n Name, hash string) string {
	return filepath.Join(c.dir, ".locks", folder(n), hash+".lock")
}

// has reports whether a commit has a file of the right size.
func (c cache) has(n Name, commit string, f File) bool {
	at, err := os.Stat(filepath.Join(c.snapshot(n, commit), filepath.FromSlash(f.Path)))
	return err == nil && at.Mode().IsRegular() && at.Size() == f.Size
}

// hasBlob reports whether a blob is complete.
func (c cache) hasBlob(n Name, f File) bool {
	at, err := os.Stat(c.blob(n, f.Hash))
	return err == nil && at.Mode().IsRegular() && at.Size() == f.Size
}

// link gives a blob its name in a commit, which has nothing of use under this name. Where
// the system has no links, the blob moves. The blob's lock must be held.
func (c cache) link(n Name, commit string, f File, symlink func(to, path string) error) error {
	path, blob := filepath.Join(c.snapshot(n, commit), filepath.FromSlash(f.Path)), c.blob(n, f.Hash)
	to, err := filepath.Rel(filepath.Dir(path), blob)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.Remove(path) // a link to nothing, or a file of another size
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = symlink(to, path)
		}
		if err != nil {
			err = os.Rename(blob, path)
		}
	}
	if err != nil {
		return fmt.Errorf("the cache cannot be written: %w", err)
	}
	return nil
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
	if err := writeWhole(c.repo(n), path, commit); err != nil {
		return fmt.Errorf("the cache cannot be written: %w", err)
	}
	return nil
}

// writeWhole replaces a file at once. Its content is first written to a file of another
// name in a directory where no one looks for it.
func writeWhole(dir, path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "ref-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Chmod(f.Name(), 0o644) // for the other users of a cache
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// commitOf is the commit of a revision as the cache knows it; "": it does not.
func (c cache) commitOf(n Name, revision string) string {
	if text, err := os.ReadFile(c.ref(n, revision)); err == nil {
		if commit := strings.TrimSpace(string(text)); isHash(commit, 40) {
			return commit
		}
		return ""
	}
	if isHash(revision, 40) {
		if at, err := os.Stat(c.snapshot(n, revision)); err == nil && at.IsDir() {
			return revision
		}
	}
	return ""
}

// files lists the files of a commit that are there. Their Hash is the name of the blob, ""
// for one without a link.
func (c cache) files(n Name, commit string) (files []File, err error) {
	root := c.snapshot(n, commit)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		at, err := os.Stat(path)
		if err != nil || !at.Mode().IsRegular() { // a link to nothing
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f := File{Path: filepath.ToSlash(name), Size: at.Size()}
		if to, err := os.Readlink(path); err == nil {
			f.Hash = filepath.Base(to)
		}
		files = append(files, f)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return files, err
}
