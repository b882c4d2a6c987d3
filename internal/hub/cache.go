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
//	models--ORG--REPO/blobs/HASH.incomplete     its beginning; HASH.RANDOM.incomplete of newer Python libraries
//	models--ORG--REPO/snapshots/COMMIT/PATH     a link to the blob; without links the file itself
//	models--ORG--REPO/refs/REVISION             the commit of a branch or tag
//	.locks/models--ORG--REPO/HASH.lock          held while a blob is written
//	.locks/models--ORG--REPO/troupe.lock        shared by pulls; held alone by a removal
type cache struct{ dir string }

const folderPrefix = "models--"

func folder(n Name) string { return folderPrefix + n.Org + "--" + n.Repo }

func (c cache) repo(n Name) string { return filepath.Join(c.dir, folder(n)) }

func (c cache) snapshot(n Name, commit string) string {
	return filepath.Join(c.repo(n), "snapshots", commit)
}

func (c cache) file(n Name, commit, path string) string {
	return filepath.Join(c.snapshot(n, commit), filepath.FromSlash(path))
}

func (c cache) blobs(n Name) string { return filepath.Join(c.repo(n), "blobs") }

func (c cache) blob(n Name, hash string) string { return filepath.Join(c.blobs(n), hash) }

func (c cache) ref(n Name, revision string) string {
	return filepath.Join(c.repo(n), "refs", filepath.FromSlash(revision))
}

// lock is the file whose lock guards a blob; "troupe": the repository.
func (c cache) lock(n Name, hash string) string {
	return filepath.Join(c.dir, ".locks", folder(n), hash+".lock")
}

func (c cache) lockOfAll(n Name) string { return c.lock(n, "troupe") }

// has reports whether a commit has a file of the right size.
func (c cache) has(n Name, commit string, f File) bool {
	at, err := os.Stat(c.file(n, commit, f.Path))
	return err == nil && at.Mode().IsRegular() && at.Size() == f.Size
}

// hasBlob reports whether a blob is complete.
func (c cache) hasBlob(n Name, f File) bool {
	at, err := os.Stat(c.blob(n, f.Hash))
	return err == nil && at.Mode().IsRegular() && at.Size() == f.Size
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
	return all, ifThere(err)
}

// commits lists the commits with a directory.
func (c cache) commits(n Name) (commits []fs.DirEntry, err error) {
	entries, err := os.ReadDir(filepath.Join(c.repo(n), "snapshots"))
	for _, e := range entries {
		if e.IsDir() {
			commits = append(commits, e)
		}
	}
	return commits, ifThere(err)
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
	return files, ifThere(err)
}

// linked are the hashes of the blobs that commits have links to.
func (c cache) linked(n Name) (map[string]bool, error) {
	all := map[string]bool{}
	commits, err := c.commits(n)
	for _, commit := range commits {
		files, err := c.files(n, commit.Name())
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			all[f.Hash] = true
		}
	}
	return all, err
}

// ifThere is the error of reading a directory, which may be missing.
func ifThere(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("the cache cannot be read: %w", err)
}

func unwritable(err error) error {
	return fmt.Errorf("the cache cannot be written: %w; set HF_HUB_CACHE to another directory", err)
}
