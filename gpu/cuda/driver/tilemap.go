//go:build cuda && cgo && linux && amd64

package driver

/*
#include <string.h>
#include "library.h"

static CUresult troupe_tile(void *out, int type, unsigned rank, uint64_t address, const uint64_t *sizes,
	const uint64_t *strides, const uint32_t *box, int swizzle)
{
	CUtensorMap map;
	uint32_t ones[5] = {1, 1, 1, 1, 1};
	CUresult r = cuTensorMapEncodeTiled(&map, type, rank, (void *)address, sizes, strides, box, ones,
		CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
	memcpy(out, &map, sizeof map);
	return r;
}
*/
import "C"

import "unsafe"

// ElementType is the type of a tensor's elements, by the API's number.
type ElementType int

// The types that TMA copies for Troupe.
const (
	Uint8Elements    ElementType = C.CU_TENSOR_MAP_DATA_TYPE_UINT8
	Float16Elements  ElementType = C.CU_TENSOR_MAP_DATA_TYPE_FLOAT16
	Float32Elements  ElementType = C.CU_TENSOR_MAP_DATA_TYPE_FLOAT32
	BFloat16Elements ElementType = C.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
)

// Tile describes a tensor in the device's memory, and the box of it that a TMA copy moves.
// Elements out of bounds are zero. The innermost dimension comes first.
type Tile struct {
	Type    ElementType
	Address uint64   // a multiple of 16
	Sizes   []uint64 // in elements, of 1 to 5 dimensions
	Strides []uint64 // in bytes, multiples of 16; of all dimensions but the first, which is dense
	Box     []uint32 // in elements, at most 256 each
	Swizzle int      // bytes, of shared memory: 0, 32, 64 or 128
}

// EncodeTile gives the 128 bytes that a kernel needs for TMA copies of a tile. They go to
// a multiple of 64 in the device's memory. It needs a device of compute capability 9.0.
func (d *Device) EncodeTile(t Tile) (encoded [128]byte, err error) {
	const call = "cuTensorMapEncodeTiled"
	if err := d.usable(call); err != nil {
		return encoded, err
	}
	rank := len(t.Sizes)
	if rank < 1 || rank > 5 || len(t.Strides) != rank-1 || len(t.Box) != rank {
		return encoded, misuse(d.description.Ordinal, call, "%d sizes, %d strides and %d sides of the box; n from 1 to 5, n-1, and n are allowed", rank, len(t.Strides), len(t.Box))
	}
	swizzle, ok := map[int]C.int{
		0: C.CU_TENSOR_MAP_SWIZZLE_NONE, 32: C.CU_TENSOR_MAP_SWIZZLE_32B,
		64: C.CU_TENSOR_MAP_SWIZZLE_64B, 128: C.CU_TENSOR_MAP_SWIZZLE_128B,
	}[t.Swizzle]
	if !ok {
		return encoded, misuse(d.description.Ordinal, call, "a swizzle of %d bytes; 0, 32, 64 and 128 are allowed", t.Swizzle)
	}
	r := C.troupe_tile(unsafe.Pointer(&encoded), C.int(t.Type), C.uint(rank), C.uint64_t(t.Address),
		(*C.uint64_t)(unsafe.SliceData(t.Sizes)), (*C.uint64_t)(unsafe.SliceData(t.Strides)), (*C.uint32_t)(unsafe.SliceData(t.Box)), swizzle)
	if r != C.CUDA_SUCCESS {
		return encoded, d.fail(int(r), call)
	}
	return encoded, nil
}
