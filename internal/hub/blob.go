package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// fetchFile gives a commit a file: it downloads the blob unless the cache has it, and links
// it. Both are done under the blob's lock, because without links the blob moves. done gets
// the bytes as they come; it is negative when a file starts over. loaded are those that
// were downloaded.
func (h *Hub) fetchFile(ctx context.Context, n Name, commit string, f File, done func(bytes int64)) (loaded int64, err error) {
	if err := os.MkdirAll(filepath.Dir(h.cache.blob(n, f.Hash)), 0o777); err != nil {
		return 0, unwritable(err)
	}
	unlock, err := h.lock(ctx, h.cache.lock(n, f.Hash), false,
		fmt.Sprintf("another process is downloading %s of %s. Waiting for it; what it has downloaded is not downloaded again", f.Path, n.Repository()))
	if ctx.Err() != nil && err != nil {
		return 0, fmt.Errorf("waiting for another download of %s: %w", f.Path, err)
	}
	if err != nil {
		return 0, err
	}
	defer unlock()
	switch { // another process may have been here meanwhile
	case h.cache.has(n, commit, f):
		done(f.Size)
		return 0, nil
	case h.cache.hasBlob(n, f):
		done(f.Size)
	default:
		if loaded, err = h.fetchBlob(ctx, n, commit, f, done); err != nil {
			return loaded, err
		}
	}
	return loaded, h.cache.link(n, commit, f, h.opt.Link)
}

// fetchBlob downloads a file and continues what is there of it. The hash is checked before
// the file gets its name.
func (h *Hub) fetchBlob(ctx context.Context, n Name, commit string, f File, done func(bytes int64)) (loaded int64, err error) {
	p, err := openPartial(ctx, h.cache.blob(n, f.Hash)+".incomplete", f, done)
	if err != nil {
		return 0, err
	}
	defer p.file.Close()
	count := func(bytes int64) {
		loaded += bytes
		done(bytes)
	}
	s := &source{hub: h, what: n.Repository(), address: h.opt.Endpoint.String() + "/" + n.Repository() + "/resolve/" + commit + "/" + escaped(f.Path)}
	continued := p.at > 0
	err = s.fill(ctx, p, count)
	if err == nil && continued && !p.right() { // what was there may be wrong: after a power cut, or of a program that leaves holes
		done(-p.at)
		if err = p.empty(); err == nil {
			err = s.fill(ctx, p, count)
		}
	}
	if err != nil {
		return loaded, err
	}
	if !p.right() {
		return loaded, errors.Join(lie("%s of %s has the hash %s instead of %s", f.Path, n.Repository(), p.sum(), f.Hash), p.file.Close(), os.Remove(p.path))
	}
	if err = errors.Join(p.file.Sync(), p.file.Close()); err == nil { // a file with its name is on the disk
		err = os.Rename(p.path, h.cache.blob(n, f.Hash))
	}
	if err != nil {
		return loaded, unwritable(err)
	}
	return loaded, nil
}
