// How a block of attention_prompt copies K and V of 64 positions into tiles of shared memory.
#pragma once
#include "tensor_attention.cuh"

namespace flash_prompt {

using namespace flash;

constexpr int THREADS = 256;

// own is this thread's number, from which addresses are computed at each place: registers are dear.
DEVICE unsigned own() { return here(threadIdx.x); }

// copy starts the copy of a thread's chunks of K, or V, or both, of n positions: 16 bytes of every THREADS / CHUNKS-th
// position. Elements from head_dim on and positions from n on are zeros.
template <int D, class T>
DEVICE void copy(bool k, bool v, unsigned char *keys, const T *kpool, const T *vpool, const int64_t *vector, int n, int head_dim) {
  constexpr int CHUNKS = D / 8, STEP = THREADS / CHUNKS;
  static_assert(STEP % 8 == 0, "chunks are exchanged in the same way in all rows of a thread");
  unsigned thread = own(), first = thread / CHUNKS, chunk = thread % CHUNKS;
  unsigned char *to = keys + chunk / ROW_CHUNKS * TILE_BYTES + first * ROW_BYTES + (chunk % ROW_CHUNKS ^ first % 8) * 16;
  int element = chunk * 8;
  bool inside = element < head_dim;
  if (!inside) element = 0;
  auto one = [&](int i, bool use) {
    int64_t at = use ? vector[first + i * STEP] + element : 0;
    if (k) cp_async16(to + i * STEP * ROW_BYTES, kpool + at, use && inside);
    if (v) cp_async16(to + KV_BYTES<D> + i * STEP * ROW_BYTES, vpool + at, use && inside);
  };
  if (n >= BLOCK) {
    UNROLL
    for (int i = 0; i < BLOCK / STEP; i++) one(i, true);
  } else {
    UNROLL_BY(1)
    for (int i = 0; i < BLOCK / STEP; i++) one(i, int(first) + i * STEP < n);
  }
}

// Codes of int8: a thread has 16 elements of a position of each tile, in the order of the threads.
constexpr int CODES = 16, TILE_CODES = BLOCK * TILE_K;
static_assert(THREADS * CODES == TILE_CODES, "every thread has codes of a position");

// copy_codes starts the copy of a thread's codes of the vectors of n positions.
template <int D>
DEVICE void copy_codes(unsigned char *codes, const i8 *pool, const int64_t *vector, int n, int head_dim) {
  unsigned thread = own(), row = thread / (TILE_K / CODES);
  int element = thread % (TILE_K / CODES) * CODES;
  int inside = int(row) < n ? head_dim - element : 0;
  const i8 *at = inside > 0 ? pool + (vector[row] * head_dim + element) : pool;
  UNROLL
  for (int tile = 0; tile < D / TILE_K; tile++) {
    unsigned char *to = codes + tile * TILE_CODES + thread * CODES;
    if (head_dim % 16 == 0) {
      cp_async16(to, at + tile * TILE_K, inside > tile * TILE_K);
    } else {
      cp_async8(to, at + tile * TILE_K, inside > tile * TILE_K);
      cp_async8(to + 8, at + tile * TILE_K + 8, inside > tile * TILE_K + 8);
    }
  }
}

// widen_codes writes a thread's codes, whose copy is over, into tiles as bfloat16, which is exact.
template <int D>
DEVICE void widen_codes(unsigned char *tiles, const unsigned char *codes) {
  unsigned thread = own(), row = thread / (TILE_K / CODES), chunk = thread % (TILE_K / CODES) * 2;
  UNROLL
  for (int tile = 0; tile < D / TILE_K; tile++) {
    Words all = *(const Words *)(codes + tile * TILE_CODES + thread * CODES);
    UNROLL
    for (int h = 0; h < 2; h++) {
      Words words;
      UNROLL
      for (int i = 0; i < 4; i++) {
        // 2^23 + 128 + code, as the bits of a float.
        uint32_t four = all[h * 2 + i / 2] ^ 0x80808080;
        float two[2];
        UNROLL
        for (int k = 0; k < 2; k++) two[k] = fsub(float_of(0x4b000000 | (four >> (i % 2 * 16 + k * 8) & 0xff)), 0x1.0001p23f);
        words[i] = pair_bf16(two[0], two[1]);
      }
      *(Words *)(tiles + tile * TILE_BYTES + row * ROW_BYTES + ((chunk + h ^ row % 8) * 16)) = words;
    }
  }
}

} // namespace flash_prompt
