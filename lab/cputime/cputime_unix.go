//go:build unix

package cputime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Used is the time of all threads so far, user and system, by getrusage(2).
// Zero when the system does not tell.
func Used() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
