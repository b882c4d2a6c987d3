//go:build cuda && cgo && linux && amd64

package driver

/*
#cgo noescape troupe_launch
#cgo nocallback troupe_launch
#include <string.h>
#include "library.h"

#define MAX_ARGUMENTS 32

// troupe_launch passes n arguments in boxes of 8 bytes. There are boxes of zeros past the
// last, for kernels with more parameters than the caller has arguments.
static CUresult troupe_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, CUstream s, const uint64_t *arguments, size_t n, int early)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value = {.programmaticStreamSerializationAllowed = 1}};
	CUlaunchConfig config = {gx, gy, gz, bx, by, bz, shared, s, &attribute, early};
	uint64_t boxes[MAX_ARGUMENTS];
	void *pointers[MAX_ARGUMENTS];
	memset(boxes, 0, sizeof boxes);
	memcpy(boxes, arguments, n * sizeof *boxes);
	for (int i = 0; i < MAX_ARGUMENTS; i++)
		pointers[i] = &boxes[i];
	return cuLaunchKernelEx(&config, f, pointers, NULL);
}
*/
import "C"

import (
	"fmt"
	"unsafe"
)

const maxArguments = C.MAX_ARGUMENTS

// Dim is the size of a grid in blocks, or of a block in threads. A zero Y or Z is 1.
type Dim struct{ X, Y, Z int }

// Launch adds a run of a kernel to the stream. shared is the bytes of dynamic shared memory
// of a block; beyond 48 KiB it needs SetDynamicShared. An argument is a parameter's bytes
// in the low bytes of a word: an address, an integer, the bits of a float. They are read
// before Launch returns, and nothing is allocated.
func (s *Stream) Launch(f *Function, grid, block Dim, shared int, arguments []uint64) error {
	if s.closed.Load() || f.module.closed.Load() || f.module.device != s.device ||
		len(arguments) > maxArguments || f.attributes.Parameters >= 0 && len(arguments) != f.attributes.Parameters {
		return s.refuseLaunch(f, arguments)
	}
	r := C.troupe_launch(f.function,
		C.uint(grid.X), C.uint(max(grid.Y, 1)), C.uint(max(grid.Z, 1)),
		C.uint(block.X), C.uint(max(block.Y, 1)), C.uint(max(block.Z, 1)),
		C.uint(shared), streamHandle(s.stream),
		(*C.uint64_t)(unsafe.SliceData(arguments)), C.size_t(len(arguments)), C.int(f.early))
	if r != C.CUDA_SUCCESS {
		return s.device.fail(int(r), fmt.Sprintf("cuLaunchKernelEx of %s, grid %v, block %v, %d bytes of shared memory", f.name, grid, block, shared))
	}
	return nil
}

// refuseLaunch says why a launch is not given to the driver.
func (s *Stream) refuseLaunch(f *Function, arguments []uint64) error {
	call := "cuLaunchKernelEx of " + f.name
	if err := s.usable(call); err != nil {
		return err
	}
	if err := f.module.usable(call); err != nil {
		return err
	}
	if f.module.device != s.device {
		return misuse(s.device.description.Ordinal, call, "the kernel is on device %d", f.module.device.description.Ordinal)
	}
	if f.attributes.Parameters >= 0 {
		return misuse(s.device.description.Ordinal, call, "%d arguments for %d parameters", len(arguments), f.attributes.Parameters)
	}
	return misuse(s.device.description.Ordinal, call, "%d arguments; at most %d are allowed", len(arguments), maxArguments)
}
