// Package blob opens the large files of a model: mapped into memory if the system
// supports it, otherwise read piece by piece or whole. Small files are read with ReadFile.
//
// A mapped file must not be shortened while it is open; that ends the process (SIGBUS).
package blob

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Blob is an open file of fixed size. Safe for concurrent reading.
type Blob interface {
	Size() int64
	// Bytes are n bytes from off on, valid until Close; out of range is an
	// error. Not to be written to.
	Bytes(off, n int64) ([]byte, error)
	// Close frees the file. Bytes of it must not be used afterwards.
	Close() error
}

// Discarder is a Blob whose memory can be given back before Close.
type Discarder interface {
	// Discard gives the memory of these bytes back. They stay valid: the next use reads
	// them from the file again. Memory that is not of this blob is left alone.
	Discard(data []byte)
}

// Open maps a file of the operating system, or reads it on demand if it cannot be mapped.
// Any other file (of an embedded directory) is read into memory. Errors name the file.
func Open(fsys fs.FS, name string) (Blob, error) {
	// Before opening: opening a named pipe would wait for its writer.
	st, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w; download it again", name, err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", name, err)
	}
	if file, ok := f.(*os.File); ok {
		b, err := openFile(file)
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		return b, nil
	}
	defer f.Close()
	data := make([]byte, st.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return Memory(data), nil
}

// openFile owns the file from now on unless it fails.
func openFile(f *os.File) (Blob, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if data, ok := mapFile(f, st.Size()); ok {
		// The mapping holds the file by itself.
		return mapped{Memory(data)}, f.Close()
	}
	return Pieces(f, st.Size()), nil
}

// ReadFile reads a file of at most limit bytes, which should be what. Errors name the file.
func ReadFile(fsys fs.FS, name string, limit int64, what string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", name, err)
	}
	defer f.Close()
	data := bytes.NewBuffer([]byte{})
	if st, err := f.Stat(); err == nil {
		data.Grow(int(min(max(st.Size(), 0), limit)) + bytes.MinRead)
	}
	if _, err = data.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	if int64(data.Len()) > limit {
		return nil, fmt.Errorf("%s is larger than %d MiB; this is not %s; download it again", name, limit>>20, what)
	}
	return data.Bytes(), nil
}

// Memory is a file that was read whole.
type Memory []byte

func (m Memory) Size() int64 { return int64(len(m)) }

func (m Memory) Bytes(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > m.Size() || n > m.Size()-off {
		return nil, io.ErrUnexpectedEOF
	}
	return m[off : off+n : off+n], nil
}

func (m Memory) Close() error { return nil }

// mapped is a file in the address space.
type mapped struct{ Memory }

func (m mapped) Close() error { return unmap(m.Memory) }

// Discard implements Discarder.
func (m mapped) Discard(data []byte) { discard(m.Memory, data) }

// Pieces is a file of size bytes that is read on demand. It owns the file from now on.
func Pieces(f *os.File, size int64) Blob { return &pieces{f: f, length: size} }

type pieces struct {
	f      *os.File
	length int64
}

func (p *pieces) Size() int64 { return p.length }

func (p *pieces) Bytes(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > p.length || n > p.length-off {
		return nil, io.ErrUnexpectedEOF
	}
	data := make([]byte, n)
	if _, err := p.f.ReadAt(data, off); err != nil && !(err == io.EOF && n == 0) {
		return nil, err
	}
	return data, nil
}

func (p *pieces) Close() error { return p.f.Close() }
