package trace

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// members are the conversation files of a trace, one after the other.
type members interface {
	// next returns the next file's name and content, which is good until the
	// next call, or io.EOF.
	next() (name string, content io.Reader, err error)
	Progress() (read, size int64)
	Close() error
}

// openMembers tells a directory, an archive and a single file apart by what
// they are, not by their names.
func openMembers(path string) (members, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openDir(path)
	}
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	const magicAt = 257 // of "ustar" in a tar header
	head, _ := in.Peek(magicAt + 5)
	if len(head) == magicAt+5 && bytes.Equal(head[magicAt:], []byte("ustar")) {
		return &archive{input: in, tar: tar.NewReader(in)}, nil
	}
	return &single{input: in}, nil
}

type single struct {
	*input
	done bool
}

func (s *single) next() (string, io.Reader, error) {
	if s.done {
		return "", nil, io.EOF
	}
	s.done = true
	return s.path, s.input, nil
}

type archive struct {
	*input
	tar *tar.Reader
}

func (a *archive) next() (string, io.Reader, error) {
	for {
		h, err := a.tar.Next()
		if errors.Is(err, io.EOF) {
			return "", nil, io.EOF
		}
		if err != nil {
			return "", nil, &Error{File: a.path, What: "broken archive: " + err.Error()}
		}
		if h.Typeflag == tar.TypeReg && conversationFile(h.Name) {
			return a.path + ":" + h.Name, a.tar, nil
		}
	}
}

// conversationFile knows conversations from READMEs and from the metadata
// files that some archivers add.
func conversationFile(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".json") && !strings.HasPrefix(base, ".")
}

type dir struct {
	paths      []string
	current    *input
	read, size int64
}

func openDir(path string) (*dir, error) {
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil, err
	}
	d := &dir{}
	for _, e := range entries {
		if !e.IsDir() && conversationFile(e.Name()) {
			d.paths = append(d.paths, filepath.Join(path, e.Name()))
			if info, err := e.Info(); err == nil {
				d.size += info.Size()
			}
		}
	}
	if len(d.paths) == 0 {
		return nil, &Error{File: path, What: "the directory has no .json file; give the one that holds the conversations"}
	}
	return d, nil
}

func (d *dir) next() (string, io.Reader, error) {
	if err := d.Close(); err != nil {
		return "", nil, fmt.Errorf("closing a trace: %w", err)
	}
	if len(d.paths) == 0 {
		return "", nil, io.EOF
	}
	path := d.paths[0]
	in, err := openInput(path)
	if err != nil {
		return "", nil, err
	}
	d.current, d.paths = in, d.paths[1:]
	return path, in, nil
}

func (d *dir) Progress() (read, size int64) {
	if d.current != nil {
		return d.read + d.current.read, d.size
	}
	return d.read, d.size
}

func (d *dir) Close() error {
	if d.current == nil {
		return nil
	}
	err := d.current.Close()
	d.read += d.current.read
	d.current = nil
	return err
}
