// What makes the inputs of products on tensor cores: rows rounded to the weights' type, to the nearest, ties to even.
//
//   round           the row as it is
//   rmsnorm_round   its RMSNorm over the whole width, as rmsnorm
//   silu_mul_round  gate / (1 + e^-gate) * up, as silu_mul
//
// Shapes: in, gate, up [count][width] in float32, gain [width]; out [count][stride]: stride is width rounded up to a
//   multiple of 8 or more, and what lies between is zeros.
// Order of sums: as the kernels of those names.
// Launch: round, silu_mul_round: grid (rows, any number of parts), any block. rmsnorm_round: grid (rows), block 32 if
//   width <= 512, otherwise 256.
//
// | version | what | time |
// |---|---|---|
// | 1 | a thread a pair | not measured |
#include "rmsnorm.cuh"

// pairs writes pairs of a row, which begin at element i: at(i) is element i.
template <class T, class F>
DEVICE void pairs(T *out, int width, int stride, F at) {
  for (int i = 2 * (blockIdx.y * blockDim.x + threadIdx.x); i < stride; i += 2 * gridDim.y * blockDim.x) {
    *(uint32_t *)(out + i) = pack<T>(i < width ? at(i) : 0, i + 1 < width ? at(i + 1) : 0);
  }
}

template <class T>
DEVICE void rmsnorm_round(const float *in, const float *gain, T *out, int width, int stride, float eps) {
  norm(in, gain, width, eps, [=](int i, float x) { out[i] = narrow<T>(x); },
       [=](int i, Four x) {
         typedef uint32_t Two __attribute__((vector_size(8)));
         *(Two *)(out + i) = Two{pack<T>(x[0], x[1]), pack<T>(x[2], x[3])};
       });
  for (int i = width + threadIdx.x; i < stride; i += blockDim.x) out[i] = narrow<T>(0);
}

#define ROUND(type)                                                                                                                  \
  KERNEL(round_##type)(const int32_t *count, const float *in, type *out, int width, int stride) {                                    \
    wait_for_previous();                                                                                                             \
    if (int(blockIdx.x) >= *count) return;                                                                                           \
    in += int64_t(blockIdx.x) * width;                                                                                               \
    pairs(out + int64_t(blockIdx.x) * stride, width, stride, [=](int i) { return in[i]; });                                          \
  }                                                                                                                                  \
  REGISTER(round_##type);                                                                                                            \
  KERNEL(rmsnorm_round_##type)(const int32_t *count, const float *in, const float *gain, type *out, int width, int stride, float eps) { \
    wait_for_previous();                                                                                                                \
    if (int(blockIdx.x) >= *count) return;                                                                                           \
    rmsnorm_round(in + int64_t(blockIdx.x) * width, gain, out + int64_t(blockIdx.x) * stride, width, stride, eps);                   \
  }                                                                                                                                  \
  REGISTER(rmsnorm_round_##type);                                                                                                    \
  KERNEL(silu_mul_round_##type)(const int32_t *count, const float *gate, const float *up, type *out, int width, int stride) {        \
    wait_for_previous();                                                                                                             \
    if (int(blockIdx.x) >= *count) return;                                                                                           \
    gate += int64_t(blockIdx.x) * width;                                                                                             \
    up += int64_t(blockIdx.x) * width;                                                                                               \
    pairs(out + int64_t(blockIdx.x) * stride, width, stride, [=](int i) { return fmul(silu(gate[i]), up[i]); });                     \
  }                                                                                                                                  \
  REGISTER(silu_mul_round_##type);
ROUND(f16)
ROUND(bf16)
