// wgmma.h: products of a warpgroup, four warps in a row. (PTX ISA: "Asynchronous
// Warpgroup Level Matrix Multiply-Accumulate Instructions".)
//
// A product runs asynchronously, for the four warps together: here when the first
// of them waits for its group. Until then operands in shared memory are not read,
// and until a warp's own wait its accumulators keep the old values. Errors: no fence before the first product or after accumulators were
// written; registers that change under way; products that nobody waits for.
//
// Products read shared memory through the asynchronous proxy. What threads stored
// there is seen only after fence_proxy_async and a barrier; until then the product
// reads NaN. What TMA wrote is seen at once.
#pragma once

#include "matrix.h"
#include "memory.h"
#include "thread.h"

namespace emu {

// Product is one wgmma of a lane: d += a b, with 16 columns of a and rows of b.
struct Product {
  Half half;
  float *d;
  int registers;        // of d: half the columns
  const uint32_t *a;    // [4] in registers, or null
  uint64_t a_matrix, b_matrix;
  bool a_turned, b_turned; // stored with the other dimension contiguous
  bool accumulate;
};
void issue(Warp &w, uint32_t mask);
void fence_products(Warp &w, uint32_t mask);
void commit_products(Warp &w, uint32_t mask);
void wait_products(size_t open, Site site);
void fence_proxy();

inline void product(const char *what, Product p, Site site) { collective(what, issue, &p, 0xffffffffu, site, true); }

} // namespace emu

// wgmma_matrix describes a matrix in shared memory. Offsets are bytes between
// groups of 8: leading along the contiguous dimension, stride across it; with a
// swizzle, leading counts only for a turned matrix. swizzle is 0, 32, 64 or 128.
inline uint64_t wgmma_matrix(const void *shared, unsigned leading, unsigned stride, unsigned swizzle) {
  uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (uint64_t)(::emu::shared_address(shared) & 0x3ffff) >> 4 | (uint64_t)(leading >> 4 & 0x3fff) << 16 |
         (uint64_t)(stride >> 4 & 0x3fff) << 32 | mode << 62;
}

// d += a b: a is 64 rows of 16, b 16 rows of 2R columns. Warp w of the group has
// rows 16w to 16w+15; a lane l with g = l/4, t = l%4 holds in d[4j..4j+3] row g
// columns 8j+2t, 8j+2t+1, then row g+8. Fragments of a are those of mma.
template <int R> inline void wgmma_bf16(float (&d)[R], uint64_t a, uint64_t b, bool accumulate = true, bool a_turned = false, bool b_turned = false, EMU_SITE) {
  ::emu::product("wgmma.bf16", {::emu::Half::bf16, d, R, nullptr, a, b, a_turned, b_turned, accumulate}, EMU_HERE);
}
template <int R> inline void wgmma_f16(float (&d)[R], uint64_t a, uint64_t b, bool accumulate = true, bool a_turned = false, bool b_turned = false, EMU_SITE) {
  ::emu::product("wgmma.f16", {::emu::Half::f16, d, R, nullptr, a, b, a_turned, b_turned, accumulate}, EMU_HERE);
}
template <int R> inline void wgmma_bf16(float (&d)[R], const uint32_t (&a)[4], uint64_t b, bool accumulate = true, bool b_turned = false, EMU_SITE) {
  ::emu::product("wgmma.bf16", {::emu::Half::bf16, d, R, a, 0, b, false, b_turned, accumulate}, EMU_HERE);
}
template <int R> inline void wgmma_f16(float (&d)[R], const uint32_t (&a)[4], uint64_t b, bool accumulate = true, bool b_turned = false, EMU_SITE) {
  ::emu::product("wgmma.f16", {::emu::Half::f16, d, R, a, 0, b, false, b_turned, accumulate}, EMU_HERE);
}

inline void wgmma_fence(EMU_SITE) { ::emu::collective("wgmma.fence", ::emu::fence_products, nullptr, 0xffffffffu, EMU_HERE, true); }
inline void wgmma_commit(EMU_SITE) { ::emu::collective("wgmma.commit_group", ::emu::commit_products, nullptr, 0xffffffffu, EMU_HERE, true); }
template <int N> inline void wgmma_wait(EMU_SITE) {
  ::emu::wait_products(N, EMU_HERE);
}
inline void fence_proxy_async() { ::emu::fence_proxy(); }
template <int N> inline void setmaxnreg_inc() {}
template <int N> inline void setmaxnreg_dec() {}
