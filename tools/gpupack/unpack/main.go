// Command unpack unpacks the archive of a pack for GPU machines, where there may be no xz.
//
//	unpack pack.tar.xz folder
//
// It is for archives that make gpu-pack wrote. tools/gpupack/pack.sh writes them, and
// tools/gpupack/run.sh calls this program.
package main

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/therootcompany/xz"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: unpack ARCHIVE FOLDER")
		os.Exit(2)
	}
	if err := unpack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "unpack:", err)
		os.Exit(1)
	}
}

// dictionary is the largest that pack.sh asks xz for, in bytes.
const dictionary = 64 << 20

func unpack(archive, folder string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	packed, err := xz.NewReader(bufio.NewReaderSize(f, 1<<20), dictionary)
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	for files := tar.NewReader(packed); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && !filepath.IsLocal(h.Name) {
			err = fmt.Errorf("%s is outside of the folder", h.Name)
		}
		if err == nil {
			err = write(filepath.Join(folder, h.Name), h, files)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
	}
}

func write(path string, h *tar.Header, data io.Reader) error {
	switch h.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, 0o755)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%s is neither a file nor a folder", h.Name)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, h.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, data)
	return errors.Join(err, f.Close())
}
