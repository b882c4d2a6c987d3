package cpu

import "golang.org/x/sys/unix"

// adviseHuge asks for pages of 2 MiB, which streams of weights read 1 to 2 %
// faster. A kernel without them says no, and nothing is lost.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
