package hub

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// File is a file of a commit.
type File struct {
	Path string // relative, with slashes
	Size int64  // bytes
	Hash string // hex: the SHA-256, or for a small file git's SHA-1 of the blob
}

// IsSHA256 reports which of the two hashes a file has.
func (f *File) IsSHA256() bool { return len(f.Hash) == 64 }

// Bounds of a list of files.
const (
	maxPages = 100
	maxFiles = 100_000
	maxSize  = 1 << 44 // bytes of a file
)

// commit resolves a revision. cached is as in list.
func (h *Hub) commit(ctx context.Context, n Name, cached bool) (string, error) {
	var info struct{ SHA string }
	if _, err := h.list(ctx, cached, h.api(n)+"/revision/"+url.PathEscape(n.revision()), n.Repository(), &info); err != nil {
		return "", err
	}
	if !isHash(info.SHA, 40) {
		return "", lie("the commit of %s is %q, which is not a hash", n, clip(info.SHA))
	}
	return info.SHA, nil
}

func (h *Hub) api(n Name) string { return h.opt.Endpoint.String() + "/api/models/" + n.Repository() }

// treeEntry is an entry of the hub's list.
type treeEntry struct {
	Type, Path, OID string
	Size            int64
	LFS             *struct {
		OID  string
		Size int64
	}
}

// entryList is a page of the hub's list. It is read entry by entry up to a bound, because
// three bytes of JSON make an entry of a hundred.
type entryList []treeEntry

func (l *entryList) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errors.New("not a list")
	}
	for *l = nil; d.More(); {
		if len(*l) == maxFiles {
			return fmt.Errorf("more than %d entries", maxFiles)
		}
		var e treeEntry
		if err := d.Decode(&e); err != nil {
			return err
		}
		*l = append(*l, e)
	}
	return nil
}

// tree lists the files of a commit. cached is as in list.
func (h *Hub) tree(ctx context.Context, n Name, commit string, cached bool) (files []File, err error) {
	address := h.api(n) + "/tree/" + commit + "?recursive=true"
	seen := map[string]bool{}
	for page := 0; address != ""; page++ {
		if page == maxPages {
			return nil, lie("the list of files of %s has more than %d pages", n, maxPages)
		}
		var entries entryList
		next, err := h.list(ctx, cached, address, n.Repository(), &entries)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			f, ok, err := entries[i].file()
			switch {
			case err != nil:
				return nil, err
			case !ok:
				continue
			case seen[f.Path]:
				return nil, lie("%q is in the list of files twice", clip(f.Path))
			case len(files) == maxFiles:
				return nil, lie("%s has more than %d files", n, maxFiles)
			}
			seen[f.Path] = true
			files = append(files, f)
		}
		if address, err = h.samePlace(address, next); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// samePlace resolves the address of the next page, which must be the hub's own.
func (h *Hub) samePlace(address, next string) (string, error) {
	if next == "" {
		return "", nil
	}
	base, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	to, err := base.Parse(next)
	if err != nil || !h.ours(to) || to.String() == address {
		return "", lie("the list of files continues at %q, which is not a page of the hub", clip(next))
	}
	return to.String(), nil
}

// file checks an entry. Not ok: it is a folder.
func (e *treeEntry) file() (f File, ok bool, err error) {
	if e.Type != "file" {
		return f, false, nil
	}
	f = File{Path: e.Path, Size: e.Size, Hash: e.OID}
	if e.LFS != nil {
		f.Size, f.Hash = e.LFS.Size, e.LFS.OID
	}
	switch {
	case !safePath(f.Path):
		return f, false, lie("the list of files has the path %q, which is not allowed", clip(f.Path))
	case f.Size < 0 || f.Size > maxSize:
		return f, false, lie("the list of files gives %s a size of %d bytes", clip(f.Path), f.Size)
	case e.LFS != nil && !isHash(f.Hash, 64), e.LFS == nil && !isHash(f.Hash, 40):
		return f, false, lie("the hash of %s is %q, which is not a hash", clip(f.Path), clip(f.Hash))
	}
	return f, true, nil
}

// isHash reports whether a text is a hash of this many hexadecimal digits, in lower case.
func isHash(text string, digits int) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == digits && strings.ToLower(text) == text
}
