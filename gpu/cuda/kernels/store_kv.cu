// store_kv: writes K and V of each token into the pool of a layer, rounded to its type.
//
// Shapes: k, v [tokens][kv_heads x head_dim]; pools as kv.cuh says; kscale, vscale only with int8, otherwise null.
// Order of sums: none.
// Launch: grid (rows, kv_heads), block 64: the first warp stores K, the second V.
//
// | version | what | time |
// |---|---|---|
// | 1 | a warp a vector | not measured |
#include "kv.cuh"

template <class T>
DEVICE void store_kv(const Step *step, const float *k, const float *v, T *kpool, T *vpool, float *kscale, float *vscale, int kv_heads,
                     int head_dim) {
  int token = blockIdx.x, head = blockIdx.y;
  if (token >= step->tokens) return;
  bool values = threadIdx.x >= 32;
  const float *from = (values ? v : k) + (int64_t(token) * kv_heads + head) * head_dim;
  int64_t at = vector_of(step, pages_of(step, token), step->token_position[token], kv_heads, head);
  float *scale = sizeof(T) > 1 ? nullptr : (values ? vscale : kscale) + at;
  store(from, (values ? vpool : kpool) + at * head_dim, scale, head_dim);
}

#define STORE_KV(type)                                                                                                              \
  KERNEL_THREADS(64, store_kv_##type)                                                                                               \
  (const Step *step, const float *k, const float *v, type *kpool, type *vpool, float *kscale, float *vscale, int kv_heads, int head_dim) { \
    wait_for_previous();                                                                                                                   \
    store_kv(step, k, v, kpool, vpool, kscale, vscale, kv_heads, head_dim);                                                         \
  }                                                                                                                                 \
  REGISTER(store_kv_##type);
STORE_KV(f32)
STORE_KV(f16)
STORE_KV(bf16)
STORE_KV(i8)
