//go:build cuda && cgo && linux && amd64

package driver

/*
#include "library.h"

// troupe_parameters counts a kernel's parameters and gives the size of the largest.
static CUresult troupe_parameters(CUfunction f, size_t *count, size_t *largest)
{
	size_t offset, size;
	CUresult r;
	*count = *largest = 0;
	while ((r = cuFuncGetParamInfo(f, *count, &offset, &size)) == CUDA_SUCCESS) {
		if (size > *largest)
			*largest = size;
		++*count;
	}
	return r == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : r; // past the last
}
*/
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

// Function is a kernel of a module. It may be used until the module is closed.
type Function struct {
	name       string
	module     *Module
	function   C.CUfunction
	attributes Attributes
	early      int // 1: its launches may begin early
}

// Attributes are what the compiler made of a kernel.
type Attributes struct {
	Registers    int // of a thread
	Local        int // bytes of a thread's local memory: what it spills, and arrays
	Shared       int // bytes of static shared memory of a block
	MaxThreads   int // of a block, by its registers
	Architecture int // of the code: 90 is sm_90
	Parameters   int // -1: the driver is older than CUDA 12.4 and does not tell
}

// Name is the kernel's name.
func (f *Function) Name() string { return f.name }

// Attributes tells what the compiler made of the kernel.
func (f *Function) Attributes() Attributes { return f.attributes }

// StartEarly lets launches of the kernel begin while the one before them in the stream ends.
// The kernel has to wait for that itself, before it reads or writes memory
// (griddepcontrol.wait). It needs compute capability 9.0.
func (f *Function) StartEarly() { f.early = 1 }

// SetDynamicShared lets launches have up to bytes of dynamic shared memory. It is needed
// beyond 48 KiB; with the static shared memory, Description.SharedPerBlock is the limit.
func (f *Function) SetDynamicShared(bytes int) error {
	call := "cuFuncSetAttribute of " + f.name
	if err := f.module.usable(call); err != nil {
		return err
	}
	if r := C.cuFuncSetAttribute(f.function, C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)); r != C.CUDA_SUCCESS {
		e := f.module.device.fail(int(r), call)
		if e.Code == C.CUDA_ERROR_INVALID_VALUE {
			d := f.module.device.description
			return misuse(d.Ordinal, call, "%d bytes of dynamic and %d of static shared memory are more than a block can have, %d", bytes, f.attributes.Shared, d.SharedPerBlock)
		}
		return e
	}
	return nil
}

// parameters counts the kernel's parameters, -1 if the driver does not tell. It refuses a
// kernel that Launch cannot give its arguments.
func (f *Function) parameters() (int, error) {
	var count, largest C.size_t
	r := C.troupe_parameters(f.function, &count, &largest)
	if _, absent := absentFunction(int(r)); absent {
		return -1, nil
	}
	call := "cuFuncGetParamInfo of " + f.name
	if r != C.CUDA_SUCCESS {
		return 0, f.module.device.fail(int(r), call)
	}
	if count > maxArguments || largest > 8 {
		return 0, misuse(f.module.device.description.Ordinal, call, "the kernel has %d parameters, the largest of %d bytes; at most %d of 8 bytes are allowed", count, largest, maxArguments)
	}
	return int(count), nil
}

// Package cu has its handles in structs of one field that is not exported.
var _ [unsafe.Sizeof(cu.Function{}) - unsafe.Sizeof(C.CUfunction(nil))]struct{} = [0]struct{}{}

func functionHandle(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }

func streamHandle(s cu.Stream) C.CUstream { return C.CUstream(unsafe.Pointer(s.C())) }
