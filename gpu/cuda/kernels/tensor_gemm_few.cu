// gemm_few: out = in W^T + bias, or out += it, for up to 16 rows at once, where reading W takes the time.
//
// Shapes: in [count][k] and w [n][k] of one 16-bit type, k a multiple of 8 (pad with zeros); bias [n] or null;
//   out [count][n] in float32. Up to three w with the same in, each with its bias and out: n1 and n2 may be 0.
// Order of sums: k in segments of SEGMENT, each as tensor.cuh says; segments are added in order to zero; bias; old out.
// Launch: grid (any number of blocks; the sum of ceil(n / 32) at most is useful, any number of row groups), block 256,
//   dynamic shared memory 122,880 bytes (gemm_few8, rows in eights) or 147,456 (gemm_few16).
//
// The weights are the operand with 16 rows, the tokens the one with 8. Each warp streams 32 rows of W of one segment
// through its own ring of stages, so that there is no barrier but at the end of segments. If K has few segments, the
// warps that are left over take other rows of W.
//
// | version | what | time |
// |---|---|---|
// | 1 | warps stream for themselves, cp.async, 3 stages of 64 | not measured |
#include "tensor.cuh"

namespace gemm_few {

constexpr int WARPS = 8, W_ROWS = 32, CHUNKS = SEGMENT / TILE_K;

// TILES is how many times 8 rows of in are multiplied at once.
template <int TILES>
struct Ring {
  static constexpr int STAGES = 3, STAGE_BYTES = (W_ROWS + TILES * 8) * ROW_BYTES;
  static constexpr int BYTES = STAGES * STAGE_BYTES;      // of a warp
  static constexpr int STRIDE = W_ROWS + 4;               // of sums in shared memory: no conflicts of banks
  static constexpr int SUMS = TILES * 8 * STRIDE;         // floats of a warp
};

// Matrix is one of those that in is multiplied with.
template <class T>
struct Matrix {
  const T *w;
  const float *bias;
  float *out;
  int n;
};

template <class T, int TILES>
DEVICE void run(const int32_t *count, const T *in, Matrix<T> m0, Matrix<T> m1, Matrix<T> m2, int k, int accumulate) {
  using R = Ring<TILES>;
  DYNAMIC_SHARED(memory);
  SHARED(float, sums, [WARPS][R::SUMS]);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned char *ring = memory + warp * R::BYTES;
  int rows = *count, segments = segments_of(k), slots = 1;
  while (slots < segments && slots < WARPS) slots *= 2;
  int groups = WARPS / slots, slot = warp % slots, rounds = (segments + slots - 1) / slots;
  auto tiles_of = [&](int n) { return (n + groups * W_ROWS - 1) / (groups * W_ROWS); };
  int tiles0 = tiles_of(m0.n), tiles1 = tiles_of(m1.n), tiles = tiles0 + tiles1 + tiles_of(m2.n);

  for (int row = blockIdx.y * TILES * 8; row < rows; row += gridDim.y * TILES * 8)
    for (int all = blockIdx.x; all < tiles; all += gridDim.x) {
      int tile = all;
      Matrix<T> m = m0;
      if (tile >= tiles0) tile -= tiles0, m = m1;
      if (all >= tiles0 + tiles1) tile -= tiles1, m = m2;
      const T *w = m.w;
      int n = m.n;
      int first = (tile * groups + warp / slots) * W_ROWS;
      // This warp's chunks of 64: of segments slot, slot + slots, ...
      int last = (segments - 1 - slot) / slots * slots + slot; // its last segment
      int chunks = 0;
      if (slot < segments && first < n) {
        int end = lesser(k - last * SEGMENT, SEGMENT);
        chunks = (last - slot) / slots * CHUNKS + (end + TILE_K - 1) / TILE_K;
      }
      auto fetch = [&](int i) {
        if (i < chunks) {
          unsigned char *stage = ring + i % R::STAGES * R::STAGE_BYTES;
          int k0 = (slot + i / CHUNKS * slots) * SEGMENT + i % CHUNKS * TILE_K;
          copy_rows<W_ROWS, 32>(stage, w, first, n, k, k0, k, lane);
          copy_rows<TILES * 8, 32>(stage + W_ROWS * ROW_BYTES, in, row, rows, k, k0, k, lane);
        }
        cp_async_commit();
      };
      for (int i = 0; i < R::STAGES - 1; i++) fetch(i);

      float total[WARPS * TILES] = {}; // of output threadIdx.x + 256 j of this tile
      int next = 0;
      for (int round = 0; round < rounds; round++) {
        float acc[2][TILES][4] = {};
        for (; next < chunks && next < (round + 1) * CHUNKS; next++) {
          cp_async_wait<R::STAGES - 2>();
          __syncwarp();
          fetch(next + R::STAGES - 1);
          unsigned char *weights = ring + next % R::STAGES * R::STAGE_BYTES, *tokens = weights + W_ROWS * ROW_BYTES;
          UNROLL
          for (int step = 0; step < TILE_K / 16; step += 2) {
            uint32_t b[2][4]; // of tiles for two steps
            if constexpr (TILES == 1) {
              uint32_t both[4];
              load_b_steps(both, tokens, 0, step);
              b[0][0] = both[0], b[0][1] = both[1], b[1][0] = both[2], b[1][1] = both[3];
            } else {
              load_b(b[0], tokens, 0, step);
              load_b(b[1], tokens, 0, step + 1);
            }
            UNROLL
            for (int s = 0; s < 2; s++)
              UNROLL
              for (int m = 0; m < 2; m++) {
                uint32_t a[4];
                load_a(a, weights, m * 16, step + s);
                UNROLL
                for (int t = 0; t < TILES; t++) mma<T>(acc[m][t], a, b[s][t * 2], b[s][t * 2 + 1]);
              }
          }
        }
        // The segments of this round, in order.
        UNROLL
        for (int m = 0; m < 2; m++)
          UNROLL
          for (int t = 0; t < TILES; t++)
            UNROLL
            for (int c = 0; c < 4; c++) sums[warp][(t * 8 + lane % 4 * 2 + c % 2) * R::STRIDE + m * 16 + lane / 4 + c / 2 * 8] = acc[m][t][c];
        __syncthreads();
        int parts = lesser(segments - round * slots, slots);
        UNROLL
        for (int j = 0; j < WARPS * TILES; j++) {
          if (j >= groups * TILES) continue;
          int i = threadIdx.x + j * WARPS * 32, column = i % W_ROWS, token = i / W_ROWS % (TILES * 8), group = i / W_ROWS / (TILES * 8);
          for (int p = 0; p < parts; p++) total[j] = fadd(total[j], sums[group * slots + p][token * R::STRIDE + column]);
        }
        __syncthreads();
      }
      UNROLL
      for (int j = 0; j < WARPS * TILES; j++) {
        if (j >= groups * TILES) continue;
        int i = threadIdx.x + j * WARPS * 32, token = row + i / W_ROWS % (TILES * 8);
        int column = (tile * groups + i / W_ROWS / (TILES * 8)) * W_ROWS + i % W_ROWS;
        if (token < rows && column < n) finish(total[j], m.bias, m.out + int64_t(token) * n + column, column, accumulate);
      }
      cp_async_wait<0>(); // of empty groups only
    }
}

} // namespace gemm_few

#define GEMM_FEW(rows, type)                                                                                                 \
  KERNEL_BLOCKS(256, 1, gemm_few##rows##_##type)                                                                             \
  (const int32_t *count, const type *in, const type *w0, const type *w1, const type *w2, const float *bias0,                 \
   const float *bias1, const float *bias2, float *out0, float *out1, float *out2, int n0, int n1, int n2, int k,             \
   int accumulate) {                                                                                                         \
    gemm_few::run<type, rows / 8>(count, in, {w0, bias0, out0, n0}, {w1, bias1, out1, n1}, {w2, bias2, out2, n2}, k,         \
                                  accumulate);                                                                               \
  }                                                                                                                          \
  REGISTER(gemm_few##rows##_##type);
GEMM_FEW(8, bf16)
GEMM_FEW(8, f16)
GEMM_FEW(16, bf16)
GEMM_FEW(16, f16)
