package cpu

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/troupe-engine/troupe/gpu"
)

// memoryStatus is MEMORYSTATUSEX of the Windows API.
type memoryStatus struct {
	length                               uint32
	load                                 uint32
	totalPhys, availPhys                 uint64
	totalPage, availPage                 uint64
	totalVirtual, availVirtual, extended uint64
}

var globalMemoryStatusEx = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// systemMemory is the least of free physical memory and what may be committed.
func systemMemory() (gpu.Memory, error) {
	var s memoryStatus
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, err := globalMemoryStatusEx.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return gpu.Memory{}, fmt.Errorf("cpu device: cannot determine the available memory: GlobalMemoryStatusEx: %w", err)
	}
	m := gpu.Memory{Total: int64(s.totalPhys), Available: int64(s.availPhys), Source: "free physical memory"}
	if s.availPage < s.availPhys {
		m.Available, m.Source = int64(s.availPage), "commit limit"
	}
	return m, nil
}
