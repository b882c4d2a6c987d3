package weights

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// blob is an open file of fixed size.
type blob interface {
	size() int64
	// bytes are n bytes from off on, good until close; out of range is an
	// error. Not to be written to.
	bytes(off, n int64) ([]byte, error)
	close() error
}

// openBlob maps a file of the operating system, reads it piece by piece where
// mapping is not to be had, and takes any other file into memory.
func openBlob(fsys fs.FS, name string) (blob, error) {
	// Before opening: to open a named pipe would wait for its writer.
	st, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened: %w; fetch it again", name, err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened: %w", name, err)
	}
	if file, ok := f.(*os.File); ok {
		b, err := openFile(file)
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("%s cannot be read: %w", name, err)
		}
		return b, nil
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	return memory(data), nil
}

// openFile takes the file over unless it fails.
func openFile(f *os.File) (blob, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if data, ok := mapFile(f, st.Size()); ok {
		// The mapping holds the file by itself.
		return mapped{memory(data)}, f.Close()
	}
	return &pieces{f: f, length: st.Size()}, nil
}

// memory is a file that was read whole.
type memory []byte

func (m memory) size() int64 { return int64(len(m)) }

func (m memory) bytes(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > m.size() || n > m.size()-off {
		return nil, io.ErrUnexpectedEOF
	}
	return m[off : off+n : off+n], nil
}

func (m memory) close() error { return nil }

// mapped is a file in the address space.
type mapped struct{ memory }

func (m mapped) close() error { return unmap(m.memory) }

// pieces is a file of which every piece is read when it is asked for.
type pieces struct {
	f      *os.File
	length int64
}

func (p *pieces) size() int64 { return p.length }

func (p *pieces) bytes(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > p.length || n > p.length-off {
		return nil, io.ErrUnexpectedEOF
	}
	data := make([]byte, n)
	if _, err := p.f.ReadAt(data, off); err != nil && !(err == io.EOF && n == 0) {
		return nil, err
	}
	return data, nil
}

func (p *pieces) close() error { return p.f.Close() }
