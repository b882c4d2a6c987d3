package main

import (
	"os"
	"syscall"
)

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
