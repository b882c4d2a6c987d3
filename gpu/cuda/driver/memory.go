//go:build cuda && cgo && linux && amd64

package driver

import (
	"fmt"

	"gorgonia.org/cu"

	"github.com/troupe-engine/troupe/internal/units"
)

// Memory is a block of the device's memory.
type Memory struct {
	handle
	address cu.DevicePtr
	size    int64
}

// Alloc takes size bytes of the device's memory, with undefined content, at a multiple of
// 256. The caller closes it. An error with ErrMemory says how much is free.
func (d *Device) Alloc(size int64) (*Memory, error) {
	call := "cuMemAlloc of " + units.Bytes(size)
	if err := d.usable(call); err != nil {
		return nil, err
	}
	if size <= 0 {
		return nil, misuse(d.description.Ordinal, call, "the size must be positive")
	}
	address, err := cu.MemAlloc(size)
	if e := d.check(call, err); e != nil {
		if e.reason == ErrMemory {
			if free, total, err := cu.MemInfo(); err == nil {
				e.Text += fmt.Sprintf(": %s of %s are free", units.Bytes(free), units.Bytes(total))
			}
		}
		return nil, e
	}
	m := &Memory{address: address, size: size}
	d.adopt(&m.handle, memoryKind)
	return m, nil
}

// Address is where the block begins, for arguments of kernels; 0 after Close.
func (m *Memory) Address() uint64 {
	if m.closed.Load() {
		return 0
	}
	return uint64(m.address)
}

// Size is the number of bytes.
func (m *Memory) Size() int64 { return m.size }

// Close gives the block back. It waits for the work under way on the device.
func (m *Memory) Close() error {
	if m == nil {
		return nil
	}
	return m.release("cuMemFree", func() error { return cu.MemFree(m.address) })
}

// span returns an error if [at, at+n) is not in a block of size bytes.
func (h *handle) span(call string, at, n, size int64) error {
	if err := h.usable(call); err != nil {
		return err
	}
	if at < 0 || n < 0 || at > size || n > size-at {
		return misuse(h.device.description.Ordinal, call, "%d bytes at %d are not in the %s of %d bytes", n, at, kindNames[h.kind], size)
	}
	return nil
}
