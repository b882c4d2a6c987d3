//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package blob

import "os"

// mapFile fails: files are read on demand here.
func mapFile(*os.File, int64) ([]byte, bool) { return nil, false }

func unmap([]byte) error { return nil }

func discard(_, _ []byte) {}
