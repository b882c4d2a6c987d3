//go:build cuda && cgo && linux && amd64

package driver

// #include "library.h"
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"

	"github.com/troupe-engine/troupe/internal/units"
)

// Pinned is a buffer of the host's memory that the device copies from and to while the host
// goes on. It is C memory, which does not move and is not swapped out.
type Pinned struct {
	handle
	bytes []byte
}

// Pin takes size bytes of pinned memory, with undefined content, at a multiple of the
// system's page size. The caller closes it.
func (d *Device) Pin(size int64) (*Pinned, error) {
	call := "cuMemHostAlloc of " + units.Bytes(size)
	if err := d.usable(call); err != nil {
		return nil, err
	}
	if size <= 0 {
		return nil, misuse(d.description.Ordinal, call, "the size must be positive")
	}
	var p unsafe.Pointer
	if r := C.cuMemHostAlloc(&p, C.size_t(size), C.CU_MEMHOSTALLOC_PORTABLE); r != C.CUDA_SUCCESS {
		e := d.fail(int(r), call)
		if e.reason == ErrMemory {
			e.Remedy = "free memory of the host, or raise the limit of the container or on locked memory (ulimit -l)"
		}
		return nil, e
	}
	b := &Pinned{bytes: unsafe.Slice((*byte)(p), size)}
	d.adopt(&b.handle, pinnedKind)
	return b, nil
}

// Bytes is the buffer; nil after Close. A slice that is kept past Close points to nothing.
// While a copy from it is under way it must not be written, and while one to it is, not
// read.
func (p *Pinned) Bytes() []byte {
	if p.closed.Load() {
		return nil
	}
	return p.bytes
}

// Close gives the buffer back. No copy from or to it may be under way.
func (p *Pinned) Close() error {
	if p == nil {
		return nil
	}
	return p.release("cuMemFreeHost", func() error { return cu.MemFreeHost(unsafe.Pointer(unsafe.SliceData(p.bytes))) })
}
