package main

import (
	"fmt"
	"os"
	"syscall"
)

// leastAddressSpace is the least limit of address space (ulimit -v) in bytes
// with which this program starts. Go's runtime reserves some 1.1 GiB for its
// tables; below that it ends with a trace of its own, or maps a table over the
// program and runs on. The rest is the program, its heap, and the embedded
// model. A whole number of KiB.
const leastAddressSpace = 2048 << 20

// addressSpaceText is what a lower limit gives. The limit in KiB, which is how
// ulimit counts, and a line end follow. The entry points in assembly write it,
// before Go's runtime is there.
var addressSpaceText = "troupe: the address space limit (ulimit -v) is too low: troupe needs at least 2097152 KiB to start, " +
	"most of which is only reserved. Run `ulimit -v unlimited`, or set at least twice that for larger models; " +
	"to limit real memory, use a cgroup instead (MemoryMax= of systemd, --memory of docker). The limit in KiB is "

// lowAddressSpace is the text for a limit in bytes, "" for one that is enough.
func lowAddressSpace(limit uint64) string {
	if limit >= leastAddressSpace {
		return ""
	}
	return fmt.Sprintf("%s%d\n", addressSpaceText, limit>>10)
}

// checkAddressSpace ends the process when its address space is limited too
// much. A binary that `make build` made has checked it at its entry point
// already; in others Go's runtime may have failed before.
func checkAddressSpace() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil {
		return
	}
	if text := lowAddressSpace(limit.Cur); text != "" {
		os.Stderr.WriteString(text)
		os.Exit(1)
	}
}
