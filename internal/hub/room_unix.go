//go:build unix

package hub

import "golang.org/x/sys/unix"

// freeBytes asks for the space that an ordinary user may still fill.
func freeBytes(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
