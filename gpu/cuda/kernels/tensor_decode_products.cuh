// The products of attention_decode: q.k of a warp's 16 positions, weights and V for its quarter of the elements.
#pragma once
#include "tensor_decode_copy.cuh"

namespace flash_decode {

// codes widens the codes in bytes 0 and 2 to a pair of bfloat16, exactly: the low 7 bits as the fraction of 128 + x, less
// 128, or 256 for a negative code. Bytes 1 and 3 may be anything.
DEVICE uint32_t codes(uint32_t x) { return sub_bf16x2(and_or(x, 0x007f007f, 0x43004300), and_or(x, 0x00800080, 0x43004300)); }

// add_key_step adds a step of 16 elements to q.k of a warp's 16 positions: score[j] as mma has it for 8 of them.
template <int D, class T>
DEVICE void add_key_step(float (&score)[2][4], const uint32_t (&q)[4], unsigned char *keys, int step) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if constexpr (sizeof(T) == 2) {
    uint32_t b[4];
    load_b(b, keys + step / 4 * TILE_BYTES, warp * 16, step % 4);
    mma<T>(score[0], q, b[0], b[1]);
    mma<T>(score[1], q, b[2], b[3]);
  } else {
    int t = lane % 4;
    uint32_t pair = t % 2 ? 0x302 : 0x100; // bytes 2 t and 2 t + 1 of 8, as bytes 0 and 2
    UNROLL
    for (int j = 0; j < 2; j++) {
      const uint32_t *w = (const uint32_t *)at<D, T>(keys, warp * 16 + j * 8 + lane / 4, step) + t / 2;
      mma<bf16>(score[j], q, codes(byte_perm(w[0], 0, pair)), codes(byte_perm(w[2], 0, pair)));
    }
  }
}

// add_value_step adds weight x v of 16 positions to the sums of a warp's elements. Tile i of 8 columns is elements 8 i to
// 8 i + 7 of them; with int8, where two codes lie in 16 bits, tiles 2 i and 2 i + 1 are the even and the odd ones of 16.
template <int D, class T>
DEVICE void add_value_step(float (&sums)[D / 32][4], const Words *pairs, unsigned char *values, int step) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr int CHUNKS = ROW<D, T> / 16 / WARPS; // of a warp
  Words w = pairs[step * 32 + lane];
  uint32_t a[4] = {w[0], w[1], w[2], w[3]};
  UNROLL
  for (int i = 0; i < CHUNKS; i += 2) {
    uint32_t b[4];
    int row = CHUNKS == 1 ? step / 2 * 32 + lane : step * 16 + lane % 16; // one chunk of two steps, or two of this one
    ldmatrix_x4_trans(b, at<D, T>(values, row, warp * CHUNKS + i + (CHUNKS == 1 ? 0 : lane / 16)));
    UNROLL
    for (int h = 0; h < 2; h++) {
      if (CHUNKS == 1 && h != step % 2) continue;
      if constexpr (sizeof(T) == 2) {
        mma<T>(sums[i + h], a, b[2 * h], b[2 * h + 1]);
      } else {
        int tile = CHUNKS == 1 ? 0 : 2 * (i + h);
        mma<bf16>(sums[tile], a, codes(b[2 * h]), codes(b[2 * h + 1]));
        mma<bf16>(sums[tile + 1], a, codes(b[2 * h] >> 8), codes(b[2 * h + 1] >> 8));
      }
    }
  }
}

// each_pair calls f(element, sum, next sum) for a warp's sums of row lane / 4 + 8 r.
template <int D, class T, class F>
DEVICE void each_pair(const float (&sums)[D / 32][4], int r, F f) {
  int t = threadIdx.x % 4, first = threadIdx.x / 32 * (D / WARPS);
  if constexpr (sizeof(T) == 2) {
    UNROLL
    for (int i = 0; i < D / 32; i++) f(first + i * 8 + t * 2, sums[i][2 * r], sums[i][2 * r + 1]);
  } else {
    UNROLL
    for (int i = 0; i < D / 64; i++) {
      f(first + i * 16 + t * 4, sums[2 * i][2 * r], sums[2 * i + 1][2 * r]);
      f(first + i * 16 + t * 4 + 2, sums[2 * i][2 * r + 1], sums[2 * i + 1][2 * r + 1]);
    }
  }
}

} // namespace flash_decode
