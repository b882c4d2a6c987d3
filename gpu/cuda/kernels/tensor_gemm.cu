// gemm: out = in W^T + bias, or out += it, for many rows: tiles of 64 or 128 rows and 128 columns.
//
// Shapes: in [count][k] and w [n][k] of one 16-bit type, k a multiple of 8 (pad with zeros); bias [n] or null;
//   out [count][n] in float32. With splits: work [ceil(k / 512)][count][n], arrived [row tiles x column tiles] zeros,
//   which are zeros again at the end.
// Order of sums: k in segments of SEGMENT, each as tensor.cuh says; segments are added in order to zero; bias; old out.
// Launch: grid (ceil(n / 128), any number of row tiles, splits), block 256, dynamic shared memory 98,304 bytes (gemm64)
//   or 131,072 (gemm128). splits > 1 spreads the segments of K over blocks, for products with few tiles: each block
//   writes the sum of each of its segments to work, and the last one to arrive adds them in order.
//
// | version | what | time |
// |---|---|---|
// | 1 | mma.sync, 8 warps of 32 x 32 or 64 x 32, cp.async, 4 stages of 64 | not measured |
#include "tensor.cuh"

namespace gemm {

constexpr int WARPS = 8, COLUMNS = 128, STAGES = 4, CHUNKS = SEGMENT / TILE_K;

// A warp has M x N pieces of 16 x 8.
template <int ROWS>
constexpr int M = ROWS / 2 / 16;
constexpr int N = COLUMNS / 4 / 8;
template <int ROWS>
using Sums = float[M<ROWS>][N][4];

// Tile is one output tile of a block.
template <class T, int ROWS>
struct Tile {
  const T *in, *w;
  const float *bias;
  float *out, *work;
  int rows, n, k, accumulate;
  int row, column; // the first of the tile
};

// each calls f(row, column, sum) for the outputs of a warp that exist.
template <class T, int ROWS, class F>
DEVICE void each(const Tile<T, ROWS> &t, const Sums<ROWS> &sum, F f) {
  int thread = here(threadIdx.x), warp = thread / 32, lane = thread % 32;
  UNROLL
  for (int m = 0; m < M<ROWS>; m++)
    UNROLL
    for (int i = 0; i < N; i++)
      UNROLL
      for (int c = 0; c < 4; c++) {
        int row = t.row + warp / 4 * (ROWS / 2) + m * 16 + lane / 4 + c / 2 * 8, column = t.column + warp % 4 * 32 + i * 8 + lane % 4 * 2 + c % 2;
        if (row < t.rows && column < t.n) f(row, column, sum[m][i][c]);
      }
}

// sum computes segments [from, to) of a tile: into out, or each into work if it is split.
template <class T, int ROWS>
DEVICE void sum(const Tile<T, ROWS> &t, unsigned char *memory, int from, int to, bool split) {
  constexpr int STAGE_BYTES = (ROWS + COLUMNS) * ROW_BYTES;
  int warp = threadIdx.x / 32, chunks = (lesser(to * SEGMENT, t.k) - from * SEGMENT + TILE_K - 1) / TILE_K;
  auto fetch = [&](int i) {
    if (i < chunks) {
      unsigned char *stage = memory + i % STAGES * STAGE_BYTES;
      int k0 = here(from) * SEGMENT + i * TILE_K;
      copy_rows<ROWS, WARPS * 32>(stage, t.in, t.row, t.rows, t.k, k0, t.k, threadIdx.x);
      copy_rows<COLUMNS, WARPS * 32>(stage + ROWS * ROW_BYTES, t.w, t.column, t.n, t.k, k0, t.k, threadIdx.x);
    }
    cp_async_commit();
  };
  UNROLL
  for (int i = 0; i < STAGES - 1; i++) fetch(i);

  Sums<ROWS> total = {}, acc = {};
  for (int i = 0; i < chunks; i++) {
    cp_async_wait<STAGES - 2>();
    __syncthreads(); // the copies of all threads are there, and nobody reads the stage that is filled next
    fetch(i + STAGES - 1);
    unsigned char *rows = memory + i % STAGES * STAGE_BYTES, *columns = rows + ROWS * ROW_BYTES;
    UNROLL
    for (int step = 0; step < TILE_K / 16; step++) {
      uint32_t a[M<ROWS>][4], b[N / 2][4];
      UNROLL
      for (int m = 0; m < M<ROWS>; m++) load_a(a[m], rows, warp / 4 * (ROWS / 2) + m * 16, step);
      UNROLL
      for (int j = 0; j < N / 2; j++) load_b(b[j], columns, warp % 4 * 32 + j * 16, step);
      UNROLL
      for (int m = 0; m < M<ROWS>; m++)
        UNROLL
        for (int j = 0; j < N; j++) mma<T>(acc[m][j], a[m], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    if (i % CHUNKS != CHUNKS - 1 && i != chunks - 1) continue;
    if (split) {
      int64_t segment = from + i / CHUNKS;
      each(t, acc, [&](int row, int column, float x) { t.work[(segment * t.rows + row) * t.n + column] = x; });
    }
    UNROLL
    for (int m = 0; m < M<ROWS>; m++)
      UNROLL
      for (int j = 0; j < N; j++)
        UNROLL
        for (int c = 0; c < 4; c++) {
          total[m][j][c] = fadd(total[m][j][c], acc[m][j][c]);
          acc[m][j][c] = 0;
        }
  }
  if (!split) each(t, total, [&](int row, int column, float x) { finish(x, t.bias, t.out + int64_t(row) * t.n + column, column, t.accumulate); });
  __syncthreads(); // the stages are free
}

template <class T, int ROWS>
DEVICE void run(const int32_t *count, const T *in, const T *w, const float *bias, float *out, int n, int k, int accumulate, float *work,
                int32_t *arrived) {
  DYNAMIC_SHARED(memory);
  Tile<T, ROWS> t{in, w, bias, out, work, *count, n, k, accumulate, 0, int(blockIdx.x) * COLUMNS};
  int segments = segments_of(k), part = (segments + gridDim.z - 1) / gridDim.z, blocks = (segments + part - 1) / part;
  int from = blockIdx.z * part, to = lesser(from + part, segments);
  if (from >= to) return;
  for (t.row = blockIdx.y * ROWS; t.row < t.rows; t.row += gridDim.y * ROWS) {
    sum(t, memory, from, to, blocks > 1);
    if (blocks == 1 || !arrive(arrived + t.row / ROWS * gridDim.x + blockIdx.x, blocks)) continue;
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += WARPS * 32) {
      int row = t.row + i / COLUMNS, column = t.column + i % COLUMNS;
      if (row >= t.rows || column >= n) continue;
      float total = 0;
      for (int64_t s = 0; s < segments; s++) total = fadd(total, work[(s * t.rows + row) * n + column]);
      finish(total, bias, out + int64_t(row) * n + column, column, accumulate);
    }
  }
}

} // namespace gemm

#define GEMM(rows, blocks, type)                                                                                         \
  KERNEL_BLOCKS(256, blocks, gemm##rows##_##type)                                                                        \
  (const int32_t *count, const type *in, const type *w, const float *bias, float *out, int n, int k, int accumulate,     \
   float *work, int32_t *arrived) {                                                                                      \
    wait_for_previous();                                                                                                 \
    gemm::run<type, rows>(count, in, w, bias, out, n, k, accumulate, work, arrived);                                     \
  }                                                                                                                      \
  REGISTER(gemm##rows##_##type);
GEMM(64, 2, bf16)
GEMM(64, 2, f16)
GEMM(128, 1, bf16)
GEMM(128, 1, f16)
