// Where K and V lie in a pool, and how they are written. A pool is [page][kv_head][slot of the page][head_dim] of its
// type; with int8 each vector has a float32 scale in [page][kv_head][slot of the page].
#pragma once
#include "numeric.cuh"
#include "step.cuh"

// vector_of is the index of a position's K or V among the vectors of a pool.
DEVICE int64_t vector_of(const Step *step, const int32_t *pages, int position, int kv_heads, int kv_head) {
  int64_t page = pages[position >> step->page_shift];
  int slot = position & ((1 << step->page_shift) - 1);
  return ((page * kv_heads + kv_head) << step->page_shift) + slot;
}

// pages_of is the page table of a token's row.
DEVICE const int32_t *pages_of(const Step *step, int token) {
  return step->page_table + int64_t(step->token_row[token]) * step->page_stride;
}

// store_int8 is QuantizeI8 of package gpu/ref: scale = absmax / 127, q = x (127 / absmax), ties to even. A vector with
// an absmax below 2^-119 is zeros with scale 0, one with NaN or an infinity zeros with scale NaN.
DEVICE void store_int8(const float *x, i8 *to, float *scale, int head_dim) {
  uint32_t most = 0; // bits of absmax order as the numbers do, NaN above infinity
  for (int i = threadIdx.x % 32; i < head_dim; i += 32) {
    uint32_t bits = bits_of(x[i]) & 0x7fffffff;
    most = bits > most ? bits : most;
  }
  UNROLL
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    uint32_t other = __shfl_xor_sync(ALL_LANES, most, lanes);
    most = other > most ? other : most;
  }
  float absmax = float_of(most), factor = 0, stored = 0;
  if (most >= 0x7f800000) {
    stored = float_of(0x7fc00000);
  } else if (absmax >= 0x1p-119f) {
    factor = fdiv(127.0f, absmax);
    stored = fdiv(absmax, 127.0f);
  }
  for (int i = threadIdx.x % 32; i < head_dim; i += 32) to[i] = factor == 0 ? 0 : i8(nearest_int(fmul(x[i], factor)));
  if (threadIdx.x % 32 == 0) *scale = stored;
}

// store writes one vector with one warp, rounded to the pool's type.
template <class T>
DEVICE void store(const float *x, T *to, float *scale, int head_dim) {
  if constexpr (sizeof(T) == 1) {
    store_int8(x, to, scale, head_dim);
  } else {
    for (int i = threadIdx.x % 32; i < head_dim; i += 32) to[i] = narrow<T>(x[i]);
  }
}
