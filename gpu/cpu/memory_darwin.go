package cpu

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/troupe-engine/troupe/gpu"
)

// systemMemory counts free pages and cached files as available, or half of the memory if
// the system does not report them.
func systemMemory() (gpu.Memory, error) {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return gpu.Memory{}, fmt.Errorf("cpu device: cannot determine the available memory: hw.memsize: %w", err)
	}
	m := gpu.Memory{Total: int64(total), Available: int64(total / 2), Source: "half of the physical memory (hw.memsize)"}
	free, noFree := unix.SysctlUint32("vm.page_free_count")
	cached, noCached := unix.SysctlUint32("vm.page_pageable_external_count")
	if noFree == nil && noCached == nil {
		m.Available, m.Source = (int64(free)+int64(cached))*int64(unix.Getpagesize()), "free and cached system memory"
	}
	return m, nil
}
