//go:build unix

package measure

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime is all threads' user and system time so far, by getrusage(2); 0 if that fails.
func CPUTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
