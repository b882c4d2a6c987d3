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
)

// partial is a file while it is downloaded. Its content is always the beginning of the
// whole file, so that another process can continue it.
type partial struct {
	path  string
	file  *os.File
	want  File
	at    int64     // bytes that are there
	begun int64     // of these, how many the system has begun to write to the disk
	bytes hash.Hash // of these bytes
}

// openPartial hashes what is there of a file. done gets the bytes as they are read.
func openPartial(ctx context.Context, path string, f File, done func(bytes int64)) (*partial, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, unwritable(err)
	}
	p := &partial{path: path, file: file, want: f}
	if err = p.restart(); err == nil {
		err = p.readBeginning(ctx, done)
	}
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		err = fmt.Errorf("cannot read an unfinished download: %w; remove %s", err, path)
	}
	return nil, errors.Join(err, file.Close())
}

func (p *partial) readBeginning(ctx context.Context, done func(bytes int64)) error {
	at, err := p.file.Stat()
	if err != nil {
		return err
	}
	if at.Size() > p.want.Size {
		return p.file.Truncate(0)
	}
	p.at, err = io.CopyBuffer(p.bytes, &watched{ctx, p.file, done}, make([]byte, pieceBytes))
	return err
}

// watched is a file that is read until ctx ends.
type watched struct {
	ctx  context.Context
	file *os.File
	done func(bytes int64)
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.file.Read(p)
	w.done(int64(n))
	return n, err
}

// restart forgets the hash and the position, not the bytes.
func (p *partial) restart() error {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p.at, p.begun = 0, 0
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

// writeBytes are hashed and then written while they are in the processor's cache. With
// writes of 1 MiB a download took up to twice the processor time.
const writeBytes = 64 << 10

// writeBackBytes are given to the disk at once while the download goes on, so that little
// is left to wait for at its end.
const writeBackBytes = 16 << 20

// Write appends bytes that follow those that are there. After an error the partial is of
// no more use, because its hash may have more bytes than the file.
func (p *partial) Write(data []byte) (n int, err error) {
	if p.at+int64(len(data)) > p.want.Size {
		return 0, lie("%s has more than the %d bytes that were announced", p.want.Path, p.want.Size)
	}
	for n < len(data) && err == nil {
		next, written := data[n:min(n+writeBytes, len(data))], 0
		p.bytes.Write(next)
		written, err = p.file.Write(next)
		n += written
	}
	p.at += int64(n)
	if n := p.at - p.begun; n >= writeBackBytes {
		writeBack(p.file, p.begun, n)
		p.begun = p.at
	}
	if err != nil {
		err = fmt.Errorf("the download cannot be written: %w", err)
	}
	return n, err
}

func (p *partial) right() bool { return p.sum() == p.want.Hash }

func (p *partial) sum() string { return hex.EncodeToString(p.bytes.Sum(nil)) }
