//go:build unix

package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// ownTime is the processor time of this process.
func ownTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
