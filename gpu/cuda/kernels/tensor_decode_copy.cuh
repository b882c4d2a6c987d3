// How a block of attention_decode copies K and V of 64 positions into shared memory.
#pragma once
#include "tensor_attention.cuh"

namespace flash_decode {

using namespace flash;

constexpr int WARPS = 4, THREADS = WARPS * 32;

template <int D, class T>
constexpr int ROW = D * int(sizeof(T)); // bytes of a vector

// at is where 16 bytes of a vector lie in a buffer: as chunk_of has them, or two rows of 64 bytes in one of 128.
template <int D, class T>
DEVICE unsigned char *at(unsigned char *buffer, int row, int chunk) {
  constexpr int CHUNKS = ROW<D, T> / 16;
  if constexpr (CHUNKS < ROW_CHUNKS) return buffer + row * ROW<D, T> + (chunk ^ (row / 2 % CHUNKS)) * 16;
  return chunk_of(buffer + chunk / ROW_CHUNKS * TILE_BYTES, row, chunk % ROW_CHUNKS);
}

// copy starts the copy of the K or V of a block. Elements from head_dim on are zeros.
template <int D, class T>
DEVICE void copy(unsigned char *buffer, const T *pool, const int64_t *bytes, int head_dim) {
  constexpr int CHUNKS = ROW<D, T> / 16, STEP = THREADS / CHUNKS, N = BLOCK / STEP;
  int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS, left = head_dim * int(sizeof(T)) - chunk * 16;
  const char *from = (const char *)pool + chunk * 16;
  if (left <= 0) {
    UNROLL
    for (int i = 0; i < N; i++) *(Words *)at<D, T>(buffer, row + i * STEP, chunk) = Words{0, 0, 0, 0};
    return;
  }
  int64_t begin[N];
  UNROLL
  for (int i = 0; i < N; i++) begin[i] = bytes[row + i * STEP];
  if (sizeof(T) == 2 || head_dim % 16 == 0) {
    UNROLL
    for (int i = 0; i < N; i++) cp_async16(at<D, T>(buffer, row + i * STEP, chunk), from + begin[i], true);
    return;
  }
  UNROLL
  for (int i = 0; i < N; i++) {
    unsigned char *to = at<D, T>(buffer, row + i * STEP, chunk);
    cp_async8(to, from + begin[i], true);
    if (left > 8) {
      cp_async8(to + 8, from + begin[i] + 8, true);
    } else {
      *(Two *)(to + 8) = Two{0, 0};
    }
  }
}

// clear makes zeros of what this thread has copied from positions of a block from left on.
template <int D, class T>
DEVICE void clear(unsigned char *buffer, int left) {
  constexpr int CHUNKS = ROW<D, T> / 16, STEP = THREADS / CHUNKS;
  int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
  for (int i = row; i < BLOCK; i += STEP)
    if (i >= left) *(Words *)at<D, T>(buffer, i, chunk) = Words{0, 0, 0, 0};
}

} // namespace flash_decode
