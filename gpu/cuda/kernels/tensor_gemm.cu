// gemm: out = in W^T + bias, or out += it, for many rows: tiles of 64 or 128 rows and 128 columns.
//
// Shapes: in [count][k] and w_i [n_i][k] of one 16-bit type, k a multiple of 8 (pad with zeros); bias, out and several
//   matrices: tensor_many.cuh. With splits: work [segments of K][tiles][rows x columns of a tile], arrived [tiles].
// Order of sums: k in segments of SEGMENT, each as tensor.cuh says; segments are added in order to zero; bias; old out.
// Launch: grid (any number of blocks up to that of tiles, 1, splits), block 256, dynamic shared memory 98,304 bytes
//   (gemm64) or 131,072 (gemm128).
//
// | version | what | H200, bf16 |
// |---|---|---|
// | 1 | mma.sync, 8 warps of 32 x 32 or 64 x 32, cp.async, 4 stages of 64 | 8192^3: 336 TFLOP/s; 64 rows, 4096 x 4096: 38.6 us |
// | 2 | several matrices, sums of segments as vectors, tiles in patches | 8192^3: 327 TFLOP/s; 64 rows, 4096 x 4096: 21.7 us |
#include "tensor_many.cuh"

namespace gemm {

constexpr int WARPS = 8, THREADS = WARPS * 32, COLUMNS = 128, STAGES = 4, CHUNKS = SEGMENT / TILE_K;

// A warp has M x N pieces of 16 x 8.
template <int ROWS>
constexpr int M = ROWS / 2 / 16;
constexpr int N = COLUMNS / 4 / 8;
template <int ROWS>
constexpr int VECTORS = M<ROWS> * N;

template <class T>
using Product = many::Product<const T *>;
template <class T>
using Tile = many::Tile<const T *>;

// at is where element c of a piece belongs, from the first one of a thread.
constexpr auto at = [](int piece, int c) INLINE { return many::At{piece / N * 16 + c / 2 * 8, piece % N * 8 + c % 2}; };
template <int ROWS, class T>
DEVICE many::At first_of(const Tile<T> &t) {
  int thread = here(threadIdx.x), warp = thread / 32, lane = thread % 32;
  return {t.row + warp / 4 * (ROWS / 2) + lane / 4, t.column + warp % 4 * 32 + lane % 4 * 2};
}

// sum computes a part of a tile: into out, or into work if it is split.
template <int ROWS, class T>
DEVICE void sum(const Product<T> &p, const Tile<T> &t, unsigned char *memory, many::Part part, int tile, int tiles) {
  constexpr int STAGE_BYTES = (ROWS + COLUMNS) * ROW_BYTES;
  int warp = threadIdx.x / 32, chunks = (lesser(part.to * SEGMENT, p.k) - part.from * SEGMENT + TILE_K - 1) / TILE_K;
  auto fetch = [&](int i) INLINE {
    if (i < chunks) {
      unsigned char *stage = memory + i % STAGES * STAGE_BYTES;
      int k0 = here(part.from) * SEGMENT + i * TILE_K;
      copy_rows<ROWS, THREADS>(stage, p.in, t.row, p.rows, p.k, k0, p.k, threadIdx.x);
      copy_rows<COLUMNS, THREADS>(stage + ROWS * ROW_BYTES, t.matrix.w, t.column, t.matrix.n, p.k, k0, p.k, threadIdx.x);
    }
    cp_async_commit();
  };
  UNROLL
  for (int i = 0; i < STAGES - 1; i++) fetch(i);

  many::Vector total[VECTORS<ROWS>] = {};
  float acc[VECTORS<ROWS>][4] = {};
  auto keep = [&](int slot, auto &sums) INLINE {
    many::Vector *to = many::place<VECTORS<ROWS>, THREADS>(p.work, slot, tile, tiles, threadIdx.x);
    UNROLL
    for (int i = 0; i < VECTORS<ROWS>; i++) to[i * THREADS] = __builtin_bit_cast(many::Vector, sums[i]);
  };
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
        for (int j = 0; j < N; j++) mma<T>(acc[m * N + j], a[m], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    if (i % CHUNKS != CHUNKS - 1 && i != chunks - 1) continue;
    if (part.from > 0) keep(slot_of(part, part.from + i / CHUNKS), acc);
    UNROLL
    for (int j = 0; j < VECTORS<ROWS>; j++)
      UNROLL
      for (int c = 0; c < 4; c++) {
        total[j].x[c] = fadd(total[j].x[c], acc[j][c]);
        acc[j][c] = 0;
      }
  }
  if (part.blocks == 1) {
    many::At first = first_of<ROWS, T>(t);
    auto bias = [&](int, int column) INLINE { return many::bias_of(t.matrix, column); };
    UNROLL
    for (int v = 0; v < VECTORS<ROWS>; v += 4) many::write<4>(t.matrix, p.rows, p.accumulate, total + v, v, first.row, first.column, at, bias);
  } else if (part.from == 0) {
    keep(0, total);
  }
  __syncthreads(); // the stages are free
}

template <int ROWS, class T>
DEVICE void run(const Product<T> &p) {
  DYNAMIC_SHARED(memory);
  auto tiles = many::tiles_of<ROWS, COLUMNS>(p);
  int count = tiles.rows * tiles.columns;
  many::Part part = many::part_of(p.k);
  if (part.from >= part.to) return;
  for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
    Tile<T> t = many::tile_at(p, tiles, tile);
    sum<ROWS, T>(p, t, memory, part, tile, count);
    if (part.blocks == 1 || !many::arrive<THREADS>(p.arrived + tile, part.blocks)) continue;
    many::At first = first_of<ROWS, T>(t);
    auto bias = [&](int, int column) INLINE { return many::bias_of(t.matrix, column); };
    many::join<VECTORS<ROWS>, THREADS, 4, 4>(p, t.matrix, part.slots, tile, count, threadIdx.x, first.row, first.column, at, bias);
  }
}

} // namespace gemm

#define GEMM(rows, blocks, type)                                                                                          \
  KERNEL_BLOCKS(256, blocks, gemm##rows##_##type)                                                                         \
  (const int32_t *count, const type *in, const type *w0, const type *w1, const type *w2, const float *bias0,              \
   const float *bias1, const float *bias2, float *out0, float *out1, float *out2, int n0, int n1, int n2, int k,          \
   int accumulate, float *work, int32_t *arrived) {                                                                       \
    wait_for_previous();                                                                                                  \
    gemm::run<rows, type>({in, {w0, bias0, out0, n0}, {w1, bias1, out1, n1}, {w2, bias2, out2, n2}, *count, k, accumulate, work, arrived}); \
  }                                                                                                                       \
  REGISTER(gemm##rows##_##type);
GEMM(64, 2, bf16)
GEMM(64, 2, f16)
GEMM(128, 1, bf16)
GEMM(128, 1, f16)
