//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package blob

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapFile maps a whole file for reading; false if that is not possible (an empty
// file, or a file system without mapping).
func mapFile(f *os.File, size int64) ([]byte, bool) {
	if size <= 0 || int64(int(size)) != size {
		return nil, false
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	return data, err == nil
}

func unmap(data []byte) error { return syscall.Munmap(data) }

// discard gives back the whole pages of a part of a mapped file. Other memory is left
// alone, because its pages would come back as zeros. If it fails, the pages stay.
func discard(file, part []byte) {
	if len(part) == 0 {
		return
	}
	begin, at := uintptr(unsafe.Pointer(&file[0])), uintptr(unsafe.Pointer(&part[0]))
	if at < begin || at-begin > uintptr(len(file)) || uintptr(len(part)) > uintptr(len(file))-(at-begin) {
		return
	}
	// A mapping begins with a page.
	size := uintptr(os.Getpagesize())
	from, to := (at-begin+size-1)/size*size, (at-begin+uintptr(len(part)))/size*size
	if from < to {
		_ = unix.Madvise(file[from:to], unix.MADV_DONTNEED)
	}
}
