// gemm_wgmma: out = in W^T + bias, or out += it, for many rows on Hopper: tiles of 64, 128 or 256 rows.
//
// Shapes: as gemm (tensor_gemm.cu), but in and w_i come as tensor maps: dimensions (k, rows) and (k, n_i), boxes of 64 x 64
//   elements, swizzle of 128 bytes, zeros outside. The map of in may have more rows than the step.
// Order of sums: as gemm, with the same bits.
// Launch: grid (blocks, 1, splits): as many as there are tiles or more; of gemm_wgmma256 any number. sm_90a only.
//
// | kernel | rows x columns of a tile | threads | dynamic shared memory | blocks on a multiprocessor |
// |---|---|---|---|---|
// | gemm_wgmma64 | 64 x 64 | 160 | 214,016 | 1 |
// | gemm_wgmma64w | 64 x 128 | 288 | 99,328 | 2 |
// | gemm_wgmma128 | 128 x 64 | 160 | 222,208 | 1 |
// | gemm_wgmma128w | 128 x 64 | 160 | 99,328 | 2 |
// | gemm_wgmma256 | 256 x 128 | 384 | 214,016 | 1 |
//
// Those with w are for wide matrices, which have tiles for several blocks on each multiprocessor: one of them begins or ends
// while others multiply. Where there are fewer tiles, a block has all of the shared memory for copies under way, since more
// blocks for a tile mean more sums of segments to write and to read.
//
// The weights are the operand with 64 rows: each warpgroup multiplies 64 of them, so that few tokens fill the other
// operand. One thread of the last warp fills the stages by TMA, and goes on to the next tile while outputs are written.
// Stages go back and forth through two mbarriers each: full counts bytes, empty the warps that have read it. Tiles of 256
// rows have no room in registers for all totals of segments: half of them lie in shared memory.
//
// | version | what | H200, bf16 |
// |---|---|---|
// | 1 | 128 x 128, m64n128k16, 4 stages of 64, totals in registers | 4096 rows, 14336 x 4096: 412 TFLOP/s, 4096 x 14336: 605; 256 rows, 4096 x 4096: 80.3 us |
// | 2 | weights as the first operand, tiles by rows, persistent blocks, several matrices, sums of segments as vectors | 4096 rows: 726, 766 TFLOP/s; 256 rows, 4096 x 4096: 20.3 us |
#include "tensor_many.cuh"

#if defined(TROUPE_EMULATION) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
namespace gemm_wgmma {

constexpr int CHUNKS = SEGMENT / TILE_K, GROUP = 128; // threads of a warpgroup
constexpr int BOX = 64, BOX_BYTES = BOX * ROW_BYTES;

// Form is a shape of tiles: of ROWS tokens, and of BOX weights for each of the GROUPS warpgroups. A thread has KEPT totals
// in registers. FILLING threads come after those that multiply. AT_ONCE vectors of a slot, or of old values, are read at once.
template <int ROWS_, int GROUPS_, int STAGES_, int KEPT_, int FILLING_>
struct Form {
  static constexpr int ROWS = ROWS_, GROUPS = GROUPS_, STAGES = STAGES_, KEPT = KEPT_, FILLING = FILLING_;
  static constexpr int AT_ONCE = FILLING == 32 && GROUPS > 1 ? 2 : 4;
  static constexpr int COLUMNS = GROUPS * BOX, SUMS = ROWS / 2, VECTORS = SUMS / 4, THREADS = GROUPS * GROUP;
  static constexpr int W_BYTES = GROUPS * BOX_BYTES, STAGE_BYTES = W_BYTES + ROWS * ROW_BYTES;
  static constexpr int IN_REGISTERS = KEPT / 4, STORED = VECTORS - IN_REGISTERS; // vectors
  static_assert(STORED == 0 || STORED == IN_REGISTERS, "the area of stored vectors takes those in registers at the end");
};

template <class F>
struct Barriers {
  uint64_t full[F::STAGES], empty[F::STAGES];
};

using Product = many::Product<const TensorMap *>;
using Tile = many::Tile<const TensorMap *>;

// Turn is a stage, and the parity of its barriers' phase. It goes on over all tiles of a block.
struct Turn {
  int stage;
  unsigned parity;
};
template <class F>
DEVICE void advance(Turn &t) {
  t.stage = t.stage + 1 < F::STAGES ? t.stage + 1 : 0;
  if (t.stage == 0) t.parity ^= 1;
}
DEVICE uint64_t matrix(const unsigned char *tile) { return wgmma_matrix(tile, 16, 8 * ROW_BYTES, ROW_BYTES); }
DEVICE uint64_t moved(uint64_t matrix, int bytes) { return matrix + (bytes >> 4); }

template <class T, int N>
DEVICE void product(float (&d)[N], uint64_t a, uint64_t b, bool accumulate) {
  if constexpr (__is_same(T, bf16)) {
    wgmma_bf16(d, a, b, accumulate);
  } else {
    wgmma_f16(d, a, b, accumulate);
  }
}

// fill copies the chunks of one tile. Boxes of tokens beyond the last one stay as they are.
template <class F>
DEVICE void fill(const Product &p, const Tile &t, unsigned char *memory, Barriers<F> &barriers, Turn &turn, int k0, int chunks) {
  int boxes = many::per(lesser(p.rows - t.row, F::ROWS), BOX);
  for (int i = 0; i < chunks; i++, advance<F>(turn)) {
    int s = turn.stage, k = k0 + i * TILE_K;
    unsigned char *stage = memory + s * F::STAGE_BYTES;
    mbarrier_wait(&barriers.empty[s], turn.parity ^ 1);
    mbarrier_expect_tx(&barriers.full[s], F::W_BYTES + boxes * BOX_BYTES);
    UNROLL
    for (int b = 0; b < F::GROUPS; b++) tma_load_2d(stage + b * BOX_BYTES, t.matrix.w, &barriers.full[s], k, t.column + b * BOX);
    for (int b = 0; b < boxes; b++) tma_load_2d(stage + F::W_BYTES + b * BOX_BYTES, p.in, &barriers.full[s], k, t.row + b * BOX);
  }
}

// at is where element c of vector v belongs, from the first one of a thread.
constexpr auto at = [](int v, int c) INLINE { return many::At{v * 8 + c % 2, c / 2 * 8}; };
DEVICE many::At first_of(const Tile &t) {
  int thread = here(threadIdx.x), lane = thread % 32;
  return {t.row + lane % 4 * 2, t.column + thread / 32 * 16 + lane / 4};
}

// At the end of a tile a warp exchanges sums of 16 columns through its area of shared memory, so that a thread has 4 columns
// of a row, and an instruction writes 64 bytes of each of 8 rows.
constexpr int WIDTH = 16;

// exchange puts the vectors of a warp into its area. Row 8 v + 4 i + q of the area holds token 8 v + 2 q + i, and halves of
// rows are exchanged, so that neither writes nor reads meet in a bank.
template <int VECTORS>
DEVICE void exchange(many::Vector *area, const many::Vector (&sum)[VECTORS]) {
  int lane = threadIdx.x % 32, quad = lane % 4;
  float *floats = (float *)area;
  __syncwarp(); // the area is no longer read
  UNROLL
  for (int v = 0; v < VECTORS; v++)
    UNROLL
    for (int c = 0; c < 4; c++) floats[(v * 8 + c % 2 * 4 + quad) * WIDTH + ((lane / 4 + c / 2 * 8) ^ (quad / 2 * 8))] = sum[v].x[c];
  __syncwarp();
}

// write_area writes what is in a warp's area, as many::write does. first is the row of the tile that it begins with. WHOLE:
// n is a multiple of 4, so that 4 columns exist or none.
template <int VECTORS, bool WHOLE>
DEVICE void write_area(const Product &p, const Tile &t, const many::Vector *area, int first) {
  constexpr int AT_ONCE = 4;
  int thread = here(threadIdx.x), g = thread % 32 / 4, quad = thread % 4, n = t.matrix.n;
  int row = t.row + first + g % 4 * 2 + g / 4, column = t.column + thread / 32 * WIDTH + quad * 4;
  if (column >= n) return;
  float *out = t.matrix.out + int64_t(row) * n + column;
  many::Vector bias;
  UNROLL
  for (int c = 0; c < 4; c++) bias.x[c] = many::bias_of(t.matrix, column + c);
  area += g * (WIDTH / 4) + (quad ^ (g % 4 / 2 * 2));
  for (int i = 0; i < VECTORS; i += AT_ONCE) {
    many::Vector x[AT_ONCE], old[AT_ONCE];
    UNROLL
    for (int j = 0; j < AT_ONCE; j++) {
      bool inside = row + (i + j) * 8 < p.rows;
      const float *from = out + int64_t((i + j) * 8) * n;
      x[j] = area[(i + j) * (8 * WIDTH / 4)];
      if constexpr (WHOLE) {
        old[j] = p.accumulate && inside ? *(const many::Vector *)from : many::Vector{};
      } else {
        UNROLL
        for (int c = 0; c < 4; c++) old[j].x[c] = p.accumulate && inside && column + c < n ? from[c] : 0;
      }
    }
    UNROLL
    for (int j = 0; j < AT_ONCE; j++) {
      bool inside = row + (i + j) * 8 < p.rows;
      float *to = out + int64_t((i + j) * 8) * n;
      UNROLL
      for (int c = 0; c < 4; c++) {
        x[j].x[c] = t.matrix.bias ? fadd(x[j].x[c], bias.x[c]) : x[j].x[c];
        x[j].x[c] = p.accumulate ? fadd(x[j].x[c], old[j].x[c]) : x[j].x[c];
      }
      if constexpr (WHOLE) {
        if (inside) *(many::Vector *)to = x[j];
      } else {
        UNROLL
        for (int c = 0; c < 4; c++)
          if (inside && column + c < n) to[c] = x[j].x[c];
      }
    }
  }
}

template <int VECTORS>
DEVICE void write_rows(const Product &p, const Tile &t, many::Vector *area, const many::Vector (&sum)[VECTORS], int first) {
  exchange(area, sum);
  if (t.matrix.n % 4 == 0) {
    write_area<VECTORS, true>(p, t, area, first);
  } else {
    write_area<VECTORS, false>(p, t, area, first);
  }
}

// multiply computes a part of a tile: into out, or into work if it is split. There is no need to begin the products of the
// next stage before those of a stage are done: another warpgroup, or another block, has some under way, or the copies take
// longer.
template <class F, class T>
DEVICE void multiply(const Product &p, const Tile &t, unsigned char *memory, Barriers<F> &barriers, Turn &turn, many::Part part, int chunks, int tile, int tiles) {
  bool tells = threadIdx.x % 32 == 0;
  many::Vector kept[F::IN_REGISTERS] = {};
  many::Vector *area = (many::Vector *)(memory + F::STAGES * F::STAGE_BYTES) + threadIdx.x / 32 * (F::STORED * 32); // of a warp, for other totals
  auto stored = [&](int v) INLINE -> many::Vector & { return area[(v - F::IN_REGISTERS) * 32 + threadIdx.x % 32]; };
  __syncwarp(); // the area is no longer read
  UNROLL
  for (int v = F::IN_REGISTERS; v < F::VECTORS; v++) stored(v) = {};
  float acc[F::SUMS] = {};
  auto vector = [&](int v) INLINE { return many::Vector{acc[4 * v], acc[4 * v + 1], acc[4 * v + 2], acc[4 * v + 3]}; };
  auto sum = [&](const many::Vector &x, int v) INLINE {
    return many::Vector{fadd(x.x[0], acc[4 * v]), fadd(x.x[1], acc[4 * v + 1]), fadd(x.x[2], acc[4 * v + 2]), fadd(x.x[3], acc[4 * v + 3])};
  };
  for (int first = 0; first < chunks; first += CHUNKS) { // a segment
    for (int i = first; i < lesser(first + CHUNKS, chunks); i++, advance<F>(turn)) {
      int s = turn.stage;
      mbarrier_wait(&barriers.full[s], turn.parity);
      unsigned char *stage = memory + s * F::STAGE_BYTES;
      uint64_t weights = matrix(stage + threadIdx.x / GROUP * BOX_BYTES), tokens = matrix(stage + F::W_BYTES);
      wgmma_fence();
      UNROLL
      for (int step = 0; step < TILE_K / 16; step++)
        product<T>(acc, moved(weights, step * 32), moved(tokens, step * 32), step > 0 || i > first);
      wgmma_commit();
      wgmma_wait<0>();
      if (tells) mbarrier_arrive(&barriers.empty[s]);
    }
    if (part.from > 0) {
      many::Vector *to = many::place<F::VECTORS, F::THREADS>(p.work, slot_of(part, part.from + first / CHUNKS), tile, tiles, threadIdx.x);
      UNROLL
      for (int v = 0; v < F::VECTORS; v++) to[v * F::THREADS] = vector(v);
      continue;
    }
    UNROLL
    for (int v = 0; v < F::IN_REGISTERS; v++) kept[v] = sum(kept[v], v);
    UNROLL
    for (int v = F::IN_REGISTERS; v < F::VECTORS; v += 4) {
      many::Vector x[4];
      UNROLL
      for (int i = 0; i < 4; i++) x[i] = stored(v + i);
      UNROLL
      for (int i = 0; i < 4; i++) stored(v + i) = sum(x[i], v + i);
    }
  }
  if (part.blocks > 1) {
    if (part.from > 0) return;
    many::Vector *to = many::place<F::VECTORS, F::THREADS>(p.work, 0, tile, tiles, threadIdx.x);
    UNROLL
    for (int v = 0; v < F::VECTORS; v++) to[v * F::THREADS] = v < F::IN_REGISTERS ? kept[v] : stored(v);
  } else if constexpr (F::STORED > 0) {
    many::Vector rest[F::STORED];
    UNROLL
    for (int v = 0; v < F::STORED; v++) rest[v] = stored(F::IN_REGISTERS + v);
    write_rows(p, t, area, rest, F::IN_REGISTERS * 8);
    write_rows(p, t, area, kept, 0);
  } else {
    many::At begin = first_of(t);
    float two[] = {many::bias_of(t.matrix, begin.column), many::bias_of(t.matrix, begin.column + 8)};
    auto bias = [&](int c, int) INLINE { return two[c / 2]; };
    UNROLL
    for (int v = 0; v < F::VECTORS; v += F::AT_ONCE)
      many::write<F::AT_ONCE>(t.matrix, p.rows, p.accumulate, kept + v, v, begin.row, begin.column, at, bias);
  }
}

template <class F, class T>
DEVICE void run(const Product &p) {
  DYNAMIC_SHARED(unaligned);
  SHARED(Barriers<F>, barriers, );
  unsigned char *memory = unaligned + (1024 - shared_address(unaligned) % 1024) % 1024; // what the swizzle counts from
  if (threadIdx.x == 0) {
    for (int s = 0; s < F::STAGES; s++) {
      mbarrier_init(&barriers.full[s], 1);
      mbarrier_init(&barriers.empty[s], F::THREADS / 32);
    }
    mbarrier_fence_init();
  }
  __syncthreads();
  auto tiles = many::tiles_of<F::ROWS, F::COLUMNS>(p);
  int count = tiles.rows * tiles.columns;
  many::Part part = many::part_of(p.k);
  if (part.from >= part.to) return;
  int k0 = part.from * SEGMENT, chunks = many::per(lesser(part.to * SEGMENT, p.k) - k0, TILE_K);
  Turn turn = {};
  int step = F::FILLING == GROUP ? gridDim.x : count; // blocks that share a multiprocessor take one tile each
  if (threadIdx.x >= F::THREADS) { // these threads know nothing of the sums, so that they need few registers
    if constexpr (F::FILLING == GROUP) setmaxnreg_dec<24>();
    if (threadIdx.x > F::THREADS) return;
    for (int tile = blockIdx.x; tile < count; tile += step) fill<F>(p, many::tile_at(p, tiles, tile), memory, barriers, turn, k0, chunks);
    return;
  }
  if constexpr (F::FILLING == GROUP) setmaxnreg_inc<240>();
  for (int tile = blockIdx.x; tile < count; tile += step) {
    Tile t = many::tile_at(p, tiles, tile);
    multiply<F, T>(p, t, memory, barriers, turn, part, chunks, tile, count);
    if (part.blocks == 1 || !many::arrive<F::THREADS>(p.arrived + tile, part.blocks)) continue;
    many::At begin = first_of(t);
    float two[] = {many::bias_of(t.matrix, begin.column), many::bias_of(t.matrix, begin.column + 8)};
    auto bias = [&](int c, int) INLINE { return two[c / 2]; };
    many::join<F::VECTORS, F::THREADS, F::AT_ONCE, 4>(p, t.matrix, part.slots, tile, count, threadIdx.x, begin.row, begin.column, at, bias);
  }
}

using Form64 = Form<64, 1, 13, 32, 32>;
using Form64w = Form<64, 2, 4, 32, 32>;
using Form128 = Form<128, 1, 9, 64, 32>;
using Form128w = Form<128, 1, 4, 64, 32>;
using Form256 = Form<256, 2, 3, 64, 128>;

} // namespace gemm_wgmma

#define GEMM_WGMMA(form, threads, blocks, type)                                                                           \
  KERNEL_BLOCKS(threads, blocks, gemm_wgmma##form##_##type)                                                               \
  (const int32_t *count, const TensorMap *in, const TensorMap *w0, const TensorMap *w1, const TensorMap *w2,              \
   const float *bias0, const float *bias1, const float *bias2, float *out0, float *out1, float *out2, int n0, int n1,     \
   int n2, int k, int accumulate, float *work, int32_t *arrived) {                                                        \
    wait_for_previous();                                                                                                  \
    gemm_wgmma::run<gemm_wgmma::Form##form, type>(                                                                        \
        {in, {w0, bias0, out0, n0}, {w1, bias1, out1, n1}, {w2, bias2, out2, n2}, *count, k, accumulate, work, arrived}); \
  }                                                                                                                       \
  REGISTER(gemm_wgmma##form##_##type);
GEMM_WGMMA(64, 160, 1, bf16)
GEMM_WGMMA(64, 160, 1, f16)
GEMM_WGMMA(64w, 288, 2, bf16)
GEMM_WGMMA(64w, 288, 2, f16)
GEMM_WGMMA(128, 160, 1, bf16)
GEMM_WGMMA(128, 160, 1, f16)
GEMM_WGMMA(128w, 160, 2, bf16)
GEMM_WGMMA(128w, 160, 2, f16)
GEMM_WGMMA(256, 384, 1, bf16)
GEMM_WGMMA(256, 384, 1, f16)
#endif
