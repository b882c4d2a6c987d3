// rope_store_kv: rotates the queries in place, rotates the keys and stores them with the values: rope for Q, rope for K
// and store_kv in one launch, with the same bits.
//
// Shapes: q [tokens][heads x head_dim], k, v [tokens][kv_heads x head_dim]; the others as rope and store_kv. k is
//   rotated in place, too.
// Order of sums: rope.cuh; none of the stores.
// Launch: grid (rows, ceil((heads + 2 kv_heads) / 8)), block 256.
//
// Times of bf16 with 32 heads and 8 KV heads of 128 on an H200:
//
// | version | what | 256 rows | 4096 rows |
// |---|---|---|---|
// | 1 | a warp and a block a vector | 15.2 us | 236.6 us |
// | 2 | a warp a vector, 8 in a block | 4.6 us | 69.9 us |
#include "kv.cuh"
#include "rope.cuh"

namespace rope_store {

constexpr int WARPS = 8;

template <class T>
DEVICE void run(const Step *step, float *q, float *k, const float *v, const float *table, T *kpool, T *vpool, float *kscale, float *vscale,
                int heads, int kv_heads, int head_dim, int half, float scale) {
  int token = blockIdx.x, head = blockIdx.y * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (token >= step->tokens || head >= heads + 2 * kv_heads) return;
  int position = step->token_position[token];
  table += int64_t(position) * half * 2;
  if (head < heads) {
    q += (int64_t(token) * heads + head) * head_dim;
    UNROLL_BY(2)
    for (int j = lane; j < half; j += 32) rotate(q, table, j, half, scale);
    return;
  }
  head -= heads;
  bool values = head >= kv_heads;
  if (values) head -= kv_heads;
  int64_t row = (int64_t(token) * kv_heads + head) * head_dim, at = vector_of(step, pages_of(step, token), position, kv_heads, head);
  if (!values) {
    UNROLL_BY(2)
    for (int j = lane; j < half; j += 32) rotate(k + row, table, j, half, scale);
    __syncwarp();
  }
  float *to_scale = sizeof(T) > 1 ? nullptr : (values ? vscale : kscale) + at;
  store(values ? v + row : k + row, (values ? vpool : kpool) + at * head_dim, to_scale, head_dim);
}

} // namespace rope_store

#define ROPE_STORE_KV(type)                                                                                                              \
  KERNEL_THREADS(256, rope_store_kv_##type)                                                                                              \
  (const Step *step, float *q, float *k, const float *v, const float *table, type *kpool, type *vpool, float *kscale, float *vscale,     \
   int heads, int kv_heads, int head_dim, int half, float scale) {                                                                       \
    wait_for_previous();                                                                                                                 \
    rope_store::run(step, q, k, v, table, kpool, vpool, kscale, vscale, heads, kv_heads, head_dim, half, scale);                         \
  }                                                                                                                                      \
  REGISTER(rope_store_kv_##type);
ROPE_STORE_KV(f32)
ROPE_STORE_KV(f16)
ROPE_STORE_KV(bf16)
ROPE_STORE_KV(i8)
