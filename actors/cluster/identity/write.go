package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// write writes a file whole or not at all, readable by its owner only. Without
// replace, an existing file is the error fs.ErrExist.
func write(path string, text []byte, replace bool) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".troupe-*.tmp") // mode 0600
	if err != nil {
		return cannotWrite(path, err)
	}
	defer os.Remove(f.Name()) // after a rename there is none
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return cannotWrite(path, err)
	}
	if !replace {
		// Of two programs that link the same name, one fails.
		if err = os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
			return cannotWrite(path, err)
		}
		// The file system has no hard links.
		if _, err := os.Lstat(path); err == nil {
			return cannotWrite(path, fs.ErrExist)
		}
	}
	return cannotWrite(path, os.Rename(f.Name(), path))
}

func cannotWrite(path string, err error) error {
	if err == nil {
		return nil
	}
	// Their text would name the temporary file.
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	} else if inner, ok := errors.AsType[*os.LinkError](err); ok {
		err = inner.Err
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}
