//go:build unix

package hub

import (
	"errors"

	"golang.org/x/sys/unix"
)

// freeBytes asks for the space that an ordinary user may still fill.
func freeBytes(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// full reports whether a disk had no room for what was written, or the user's quota.
func full(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
