package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockPause is how often a lock that another process holds is tried again.
const lockPause = 100 * time.Millisecond

// fetchFile gives a commit a file: it downloads the blob unless the cache has it, and links
// it. Both are done under the blob's lock, because without links the blob moves. done gets
// the bytes as they come; it is negative when a file starts over. loaded are those that
// the cache did not have before.
func (h *Hub) fetchFile(ctx context.Context, n Name, commit string, f File, done func(bytes int64)) (loaded int64, err error) {
	lockPath := h.cache.lock(n, f.Hash)
	for _, dir := range []string{filepath.Dir(lockPath), filepath.Dir(h.cache.blob(n, f.Hash))} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return 0, fmt.Errorf("the cache cannot be written: %w; set HF_HUB_CACHE to another directory", err)
		}
	}
	lock := flock.New(lockPath)
	if _, err := lock.TryLockContext(ctx, lockPause); err != nil {
		return 0, fmt.Errorf("waiting for another download of %s: %w", f.Path, err)
	}
	defer lock.Close()
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
	p, err := openPartial(h.cache.blob(n, f.Hash)+".incomplete", f)
	if err != nil {
		return 0, err
	}
	defer p.file.Close()
	done(p.at)
	report := done
	done = func(bytes int64) {
		loaded += max(0, bytes)
		report(bytes)
	}
	source := &source{hub: h, what: n.Repository(), address: h.opt.Endpoint.String() + "/" + n.Repository() + "/resolve/" + commit + "/" + escaped(f.Path)}
	if err := source.fill(ctx, p, done); err != nil {
		return loaded, err
	}
	if sum := p.sum(); sum != f.Hash {
		return loaded, errors.Join(lie("%s of %s has the hash %s instead of %s", f.Path, n.Repository(), sum, f.Hash), p.file.Close(), os.Remove(p.path))
	}
	if err = errors.Join(p.file.Sync(), p.file.Close()); err == nil { // a file with its name is on the disk
		err = os.Rename(p.path, h.cache.blob(n, f.Hash))
	}
	if err != nil {
		err = fmt.Errorf("the cache cannot be written: %w", err)
	}
	return loaded, err
}

// partial is a file while it is downloaded. Its content is always the beginning of the
// whole file, so that another process can continue it.
type partial struct {
	path  string
	file  *os.File
	want  File
	at    int64     // bytes that are there
	bytes hash.Hash // of these bytes
}

func openPartial(path string, f File) (*partial, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the cache cannot be written: %w; set HF_HUB_CACHE to another directory", err)
	}
	p := &partial{path: path, file: file, want: f}
	if err := p.restart(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	at, err := file.Stat()
	if err == nil && at.Size() > f.Size {
		err = file.Truncate(0)
	} else if err == nil {
		p.at, err = io.Copy(p.bytes, file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read an unfinished download: %w; remove %s", err, path), file.Close())
	}
	return p, nil
}

// restart forgets the hash and the position, not the bytes.
func (p *partial) restart() error {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p.at = 0
	if p.want.IsSHA256() {
		p.bytes = sha256.New()
		return nil
	}
	p.bytes = sha1.New()
	fmt.Fprintf(p.bytes, "blob %d\x00", p.want.Size) // git's form of a file
	return nil
}

// empty starts the file over.
func (p *partial) empty() error { return errors.Join(p.restart(), p.file.Truncate(0)) }

// Write appends bytes that follow those that are there. After an error the partial is of
// no more use, because its hash may have more bytes than the file.
func (p *partial) Write(data []byte) (int, error) {
	if p.at+int64(len(data)) > p.want.Size {
		return 0, lie("%s has more than the %d bytes that were announced", p.want.Path, p.want.Size)
	}
	hashed := make(chan struct{})
	go func() { // while the system copies them
		p.bytes.Write(data)
		close(hashed)
	}()
	n, err := p.file.Write(data)
	<-hashed
	p.at += int64(n)
	if err != nil {
		err = fmt.Errorf("the download cannot be written: %w", err)
	}
	return n, err
}

func (p *partial) sum() string { return hex.EncodeToString(p.bytes.Sum(nil)) }
