// tma.h: copies by the tensor memory accelerator: bulk, and tiles of a tensor.
//
// They are asynchronous: here they happen when nothing else in the block can
// run, in random order, and then tell their mbarrier. (PTX ISA: cp.async.bulk,
// cp.async.bulk.tensor; CUDA driver API: cuTensorMapEncodeTiled.)
#pragma once

#include "thread.h"

namespace emu {

// Tiles is what the fake driver puts into the 128 opaque bytes of a
// CUtensorMap. Dimension 0 is the fastest.
struct Tiles {
  uint64_t mark;            // tensor_mark
  const unsigned char *base;
  uint32_t rank, element;   // dimensions; bytes of an element
  uint32_t swizzle;         // bytes of the span: 0, 32, 64 or 128
  uint32_t box[5];          // elements of a tile
  uint32_t fill;            // 1: what lies outside is NaN instead of zero
  uint32_t reserved;
  uint64_t size[5];         // elements of the tensor
  uint32_t stride[4];       // bytes / 16, of dimensions 1 and up
};
static_assert(sizeof(Tiles) <= 128, "a tensor map has 128 bytes");
constexpr uint64_t tensor_mark = 0x70616d726f736e65;

void load_tile(void *to, const void *map, uint64_t *barrier, int rank, const int *at);
void load_bulk(void *to, const void *from, unsigned bytes, uint64_t *barrier);

} // namespace emu

// TensorMap is a CUtensorMap for kernels.
struct alignas(64) TensorMap {
  unsigned char opaque[128];
};

// tma_load_2d copies the map's tile at element x of the rows from y on.
inline void tma_load_2d(void *shared, const TensorMap *map, uint64_t *barrier, int x, int y) {
  int at[2] = {x, y};
  ::emu::load_tile(shared, map, barrier, 2, at);
}
inline void tma_load_3d(void *shared, const TensorMap *map, uint64_t *barrier, int x, int y, int z) {
  int at[3] = {x, y, z};
  ::emu::load_tile(shared, map, barrier, 3, at);
}
// tma_load_bulk copies bytes, a multiple of 16, between addresses that are, too.
inline void tma_load_bulk(void *shared, const void *global, unsigned bytes, uint64_t *barrier) {
  ::emu::load_bulk(shared, global, bytes, barrier);
}
inline void tma_prefetch_map(const void *) {}
