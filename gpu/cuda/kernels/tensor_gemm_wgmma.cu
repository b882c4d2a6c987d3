// gemm_wgmma: out = in W^T + bias, or out += it, for many rows on Hopper: tiles of 128 rows and 128 columns.
//
// Shapes: as gemm (tensor_gemm.cu), but in and w come as tensor maps: dimensions (k, rows) and (k, n), boxes of 64 x 128
//   elements, swizzle of 128 bytes, zeros outside. The map of in may have more rows than the step.
// Order of sums: as gemm, with the same bits.
// Launch: grid (ceil(n / 128), any number of row tiles, splits), block 384, dynamic shared memory 132,096 bytes. sm_90a only.
//
// One thread of the first warpgroup fills the stages by TMA. The other two warpgroups multiply 64 rows each. Stages go
// back and forth through two mbarriers each: full counts bytes, empty the warps that have read it.
//
// | version | what | time |
// |---|---|---|
// | 1 | m64n128k16, 4 stages of 64, totals of segments in registers | not measured |
#include "tensor.cuh"

#if defined(TROUPE_EMULATION) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
namespace gemm_wgmma {

constexpr int ROWS = 128, COLUMNS = 128, STAGES = 4, CHUNKS = SEGMENT / TILE_K, GROUP = 128; // threads of a warpgroup
constexpr int IN_BYTES = ROWS * ROW_BYTES, STAGE_BYTES = IN_BYTES + COLUMNS * ROW_BYTES;

struct Barriers {
  uint64_t full[STAGES], empty[STAGES];
};

struct Args {
  const TensorMap *in, *w;
  const float *bias;
  float *out;
  int rows, n, k, accumulate;
  float *work;
};

// Chunks are counted over all tiles of a block.
DEVICE int stage_of(int chunk) { return chunk % STAGES; }
DEVICE unsigned parity_of(int chunk) { return chunk / STAGES % 2; }

DEVICE uint64_t matrix(const unsigned char *tile) { return wgmma_matrix(tile, 16, 8 * ROW_BYTES, ROW_BYTES); }

template <class T>
DEVICE void product(float (&d)[64], uint64_t a, uint64_t b) {
  if constexpr (__is_same(T, bf16)) {
    wgmma_bf16(d, a, b);
  } else {
    wgmma_f16(d, a, b);
  }
}

// fill copies the chunks of one tile.
DEVICE void fill(const Args &args, unsigned char *memory, Barriers &barriers, int &next, int row, int column, int k0, int chunks) {
  for (int i = 0; i < chunks; i++, next++) {
    int s = stage_of(next);
    mbarrier_wait(&barriers.empty[s], parity_of(next) ^ 1);
    mbarrier_expect_tx(&barriers.full[s], STAGE_BYTES);
    tma_load_2d(memory + s * STAGE_BYTES, args.in, &barriers.full[s], k0 + i * TILE_K, row);
    tma_load_2d(memory + s * STAGE_BYTES + IN_BYTES, args.w, &barriers.full[s], k0 + i * TILE_K, column);
  }
}

// each calls f(row, column, sum) for the outputs of a thread that exist. row and column are the tile's first.
template <class F>
DEVICE void each(const Args &args, int row, int column, const float (&sum)[64], F f) {
  int thread = here(threadIdx.x) - GROUP, lane = thread % 32;
  row += thread / 32 * 16 + lane / 4;
  column += lane % 4 * 2;
  UNROLL
  for (int j = 0; j < 16; j++)
    UNROLL
    for (int c = 0; c < 4; c++) {
      int r = row + c / 2 * 8, i = column + j * 8 + c % 2;
      if (r < args.rows && i < args.n) f(r, i, sum[4 * j + c]);
    }
}

// multiply computes 64 rows of one tile: into out, or each segment into work if it is split.
template <class T>
DEVICE void multiply(const Args &args, unsigned char *memory, Barriers &barriers, int &next, int row, int column, int from, int chunks, bool split) {
  int half = threadIdx.x / GROUP - 1;
  bool tells = threadIdx.x % 32 == 0;
  float total[64] = {}, acc[64];
  for (int first = 0; first < chunks; first += CHUNKS) { // a segment
    UNROLL
    for (int j = 0; j < 64; j++) acc[j] = 0;
    for (int i = first; i < lesser(first + CHUNKS, chunks); i++, next++) {
      int s = stage_of(next);
      mbarrier_wait(&barriers.full[s], parity_of(next));
      unsigned char *rows = memory + s * STAGE_BYTES + half * 64 * ROW_BYTES, *columns = memory + s * STAGE_BYTES + IN_BYTES;
      wgmma_fence();
      UNROLL
      for (int step = 0; step < TILE_K / 16; step++) product<T>(acc, matrix(rows + step * 32), matrix(columns + step * 32));
      wgmma_commit();
      if (i > first) { // the products of the stage before are done
        wgmma_wait<1>();
        if (tells) mbarrier_arrive(&barriers.empty[stage_of(next + STAGES - 1)]);
      }
    }
    wgmma_wait<0>();
    if (tells) mbarrier_arrive(&barriers.empty[stage_of(next + STAGES - 1)]);
    if (split) {
      int64_t segment = from + first / CHUNKS;
      each(args, row, column, acc, [&](int r, int c, float x) { args.work[(segment * args.rows + r) * args.n + c] = x; });
    }
    UNROLL
    for (int j = 0; j < 64; j++) total[j] = fadd(total[j], acc[j]);
  }
  if (!split) each(args, row, column, total, [&](int r, int c, float x) { finish(x, args.bias, args.out + int64_t(r) * args.n + c, c, args.accumulate); });
}

template <class T>
DEVICE void run(const Args &args, int32_t *arrived) {
  DYNAMIC_SHARED(unaligned);
  SHARED(Barriers, barriers, );
  unsigned char *memory = unaligned + (1024 - shared_address(unaligned) % 1024) % 1024; // what the swizzle counts from
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) {
      mbarrier_init(&barriers.full[s], 1);
      mbarrier_init(&barriers.empty[s], 2 * GROUP / 32);
    }
    mbarrier_fence_init();
  }
  __syncthreads();
  int segments = segments_of(args.k), part = (segments + gridDim.z - 1) / gridDim.z, blocks = (segments + part - 1) / part;
  int from = blockIdx.z * part, to = lesser(from + part, segments), column = blockIdx.x * COLUMNS;
  if (from >= to) return;
  int k0 = from * SEGMENT, chunks = (lesser(to * SEGMENT, args.k) - k0 + TILE_K - 1) / TILE_K;
  int next = 0;
  for (int row = blockIdx.y * ROWS; row < args.rows; row += gridDim.y * ROWS) {
    if (threadIdx.x >= GROUP) {
      multiply<T>(args, memory, barriers, next, row, column, from, chunks, blocks > 1);
    } else if (threadIdx.x == 0) {
      fill(args, memory, barriers, next, row, column, k0, chunks);
    }
    if (blocks == 1 || !arrive(arrived + row / ROWS * gridDim.x + blockIdx.x, blocks)) continue;
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += 3 * GROUP) {
      int r = row + i / COLUMNS, c = column + i % COLUMNS;
      if (r >= args.rows || c >= args.n) continue;
      float total = 0;
      for (int64_t s = 0; s < segments; s++) total = fadd(total, args.work[(s * args.rows + r) * args.n + c]);
      finish(total, args.bias, args.out + int64_t(r) * args.n + c, c, args.accumulate);
    }
  }
}

} // namespace gemm_wgmma

#define GEMM_WGMMA(type)                                                                                                          \
  KERNEL_BLOCKS(384, 1, gemm_wgmma_##type)                                                                                        \
  (const int32_t *count, const TensorMap *in, const TensorMap *w, const float *bias, float *out, int n, int k, int accumulate,    \
   float *work, int32_t *arrived) {                                                                                               \
    wait_for_previous();                                                                                                          \
    gemm_wgmma::run<type>(gemm_wgmma::Args{in, w, bias, out, *count, n, k, accumulate, work}, arrived);                           \
  }                                                                                                                               \
  REGISTER(gemm_wgmma_##type);
GEMM_WGMMA(bf16)
GEMM_WGMMA(f16)
#endif
