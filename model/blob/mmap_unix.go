//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package blob

import (
	"os"
	"syscall"
)

// mapFile maps a whole file for reading; false where that does not work, an
// empty file or a file system without mapping.
func mapFile(f *os.File, size int64) ([]byte, bool) {
	if size <= 0 || int64(int(size)) != size {
		return nil, false
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	return data, err == nil
}

func unmap(data []byte) error { return syscall.Munmap(data) }
