package main

import (
	"fmt"
	"os"
	"syscall"
)

// leastAddressSpace is the smallest limit of address space (ulimit -v) in bytes with
// which this program starts, in whole KiB. Go's runtime reserves about 1.1 GiB for
// its tables; with less it ends with a stack trace, or maps a table over the program
// and continues. The rest is for the program, its heap, and the embedded model.
const leastAddressSpace = 2048 << 20

// addressSpaceText is the error of a lower limit, printed by the assembly entry points
// before Go's runtime starts. The limit in KiB, ulimit's unit, and a line end follow.
var addressSpaceText = "troupe cannot start: the address space limit (ulimit -v) is too low. Run `ulimit -v unlimited`, or set at least 2097152 KiB " +
	"(most of it is only reserved), and twice that for larger models. To limit real memory, use a cgroup " +
	"(MemoryMax= of systemd, --memory of docker). The limit in KiB is "

// lowAddressSpace returns the error of a limit in bytes; "" if it is high enough.
func lowAddressSpace(limit uint64) string {
	if limit >= leastAddressSpace {
		return ""
	}
	return fmt.Sprintf("%s%d\n", addressSpaceText, limit>>10)
}

// checkAddressSpace ends the process if the limit is too low. A binary of `make build`
// has checked it at its entry point; in others Go's runtime may have failed before this.
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
