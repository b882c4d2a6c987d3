//go:build unix

package cpu

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reserve takes zeroed memory from the system that is backed when it is first
// touched, and tells how to give it back.
func reserve(bytes int) ([]byte, func() error, error) {
	b, free, err := mapped(bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("reserve %d bytes: %w; lower max-total-tokens or mem-fraction-static", bytes, err)
	}
	return b, free, nil
}

// reserveWeights is reserve for weights, in large pages where there are any.
func reserveWeights(bytes int) ([]byte, func() error, error) {
	b, free, err := mapped(bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("reserve %d bytes: %w", bytes, err)
	}
	adviseHuge(b)
	return b, free, nil
}

func mapped(bytes int) ([]byte, func() error, error) {
	b, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return b, func() error { return unix.Munmap(b) }, nil
}
