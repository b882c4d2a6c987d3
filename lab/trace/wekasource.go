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

// members are the conversation files of a trace, one after the other: those of a
// directory, those in an archive, or a single file.
type members struct {
	paths      []string    // not opened yet
	current    *input      // the newest one
	archive    *tar.Reader // of current, if it is one
	unread     bool        // current has not been returned
	read, size int64       // bytes: of the files before current, and of all
}

// openMembers tells directory, archive and single file apart by content, not by name.
func openMembers(path string) (*members, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	m := &members{}
	if !info.IsDir() {
		m.paths = []string{path}
		if err := m.open(); err != nil {
			return nil, err
		}
		const magicAt = 257 // of "ustar" in a tar header
		head, _ := m.current.Peek(magicAt + 5)
		if len(head) == magicAt+5 && bytes.Equal(head[magicAt:], []byte("ustar")) {
			m.archive = tar.NewReader(m.current)
		}
		m.size = m.current.size
		return m, nil
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() && conversationFile(e.Name()) {
			m.paths = append(m.paths, filepath.Join(path, e.Name()))
			if info, err := e.Info(); err == nil {
				m.size += info.Size()
			}
		}
	}
	if len(m.paths) == 0 {
		return nil, &Error{File: path, What: "the directory has no .json file; give the one that holds the conversations"}
	}
	return m, nil
}

func (m *members) open() (err error) {
	m.current, err = openInput(m.paths[0])
	m.paths, m.unread = m.paths[1:], true
	return err
}

// next returns the next file's name and content, valid until the next call, or io.EOF.
func (m *members) next() (name string, content io.Reader, err error) {
	if m.archive != nil {
		return m.nextInArchive()
	}
	if !m.unread {
		if err := m.Close(); err != nil {
			return "", nil, fmt.Errorf("cannot close the trace: %w", err)
		}
		if len(m.paths) == 0 {
			return "", nil, io.EOF
		}
		if err := m.open(); err != nil {
			return "", nil, err
		}
	}
	m.unread = false
	return m.current.path, m.current, nil
}

func (m *members) nextInArchive() (string, io.Reader, error) {
	for {
		h, err := m.archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return "", nil, io.EOF
		case err != nil:
			return "", nil, &Error{File: m.current.path, What: "damaged archive: " + worded(err).Error()}
		case h.Typeflag == tar.TypeReg && conversationFile(h.Name):
			return m.current.path + ":" + h.Name, m.archive, nil
		}
	}
}

// conversationFile excludes READMEs and the metadata files of some archivers.
func conversationFile(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".json") && !strings.HasPrefix(base, ".")
}

func (m *members) Progress() (read, size int64) {
	if m.current != nil {
		read, _ = m.current.Progress()
	}
	return m.read + read, m.size
}

func (m *members) Close() error {
	if m.current == nil {
		return nil
	}
	m.read, _ = m.Progress()
	err := m.current.Close()
	m.current = nil
	return err
}
