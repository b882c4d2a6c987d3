// gemm_few: out = in W^T + bias, or out += it, for up to 16 rows at once, where reading W takes the time.
//
// Shapes: in [count][k] and w [n][k] of one 16-bit type, k a multiple of 8 (pad with zeros); bias [n] or null;
//   out [count][n] in float32. Up to three w with the same in, each with its bias and out: n1 and n2 may be 0.
// Order of sums: k in segments of SEGMENT, each as tensor.cuh says; segments are added in order to zero; bias; old out.
// Launch: grid (any number of blocks, best one for each multiprocessor and at most the sum of ceil(n / 8); rows in eights
//   or sixteens), block 256, dynamic shared memory 122,880 bytes (gemm_few8) or 147,456 (gemm_few16).
//
// The weights are the operand with 16 rows, the tokens the one with 8. Columns are dealt out in groups of 8, a run of
// neighbours for each block, so that all blocks read the same amount. A block takes up to 32 columns of its run at once:
// a pass. A unit is a segment of a pass; warp w takes units w, w + 8, ... of all passes of the block, and streams them
// through its own ring of stages, which runs on from unit to unit: while the sums of a round of 8 units are put
// together, the copies of the next ones are under way.
//
// Every block reads all tokens once in a pass, so they go through the L1 cache; weights do not. What follows a sum, bias
// and old out, is read when its pass begins, and the first weights before count is known.
//
// Times of one row of bf16 on an H200, with the share of its bandwidth:
//
// | version | what | 4096 x 4096 | 1024 x 4096 | 14336 x 4096 | 4096 x 14336 | 128256 x 4096 |
// |---|---|---|---|---|---|---|
// | 1 | a tile of 32 columns a block, a ring for each tile | 11.7 us, 63 % | 7.3, 25 % | 36.0, 72 % | 32.8, 79 % | 246.8, 94 % |
// | 2 | equal runs of columns, a ring for all of them | 9.2 us, 80 % | 5.1, 36 % | 29.9, 87 % | 29.4, 88 % | 240.1, 96 % |
#include "tensor.cuh"

namespace gemm_few {

constexpr int WARPS = 8, CHUNKS = SEGMENT / TILE_K;
constexpr int GROUP = 8, HEIGHT = 4, W_ROWS = GROUP * HEIGHT; // columns that are dealt out at once; groups, columns of a pass
constexpr int STEP = 32 / ROW_CHUNKS; // rows that a warp copies at once

// TILES is how many times 8 rows of in are multiplied at once.
template <int TILES>
struct Ring {
  static constexpr int TOKENS = TILES * 8;
  static constexpr int STAGES = 3, STAGE_BYTES = (W_ROWS + TOKENS) * ROW_BYTES;
  static constexpr int BYTES = STAGES * STAGE_BYTES;      // of a warp
  static constexpr int STRIDE = W_ROWS + 4;               // of sums in shared memory: no conflicts of banks
  static constexpr int SUMS = TOKENS * STRIDE;            // floats of a warp
};

// Matrix is one of those that in is multiplied with.
template <class T>
struct Matrix {
  const T *w;
  const float *bias;
  float *out;
  int n;
};

// Unit is a segment of the pass that begins with a group of columns.
struct Unit {
  int group, segment;
};

// Run is what a block has to do: groups of columns from first to end - 1, counted over all matrices.
template <class T>
struct Run {
  Matrix<T> m0, m1, m2;
  int groups0, groups01;  // of m0; of m0 and m1
  int first, end, height; // height: groups of a pass, at most
  int segments;
};

template <class T>
DEVICE Run<T> run_of(Matrix<T> m0, Matrix<T> m1, Matrix<T> m2, int k) {
  int groups0 = (m0.n + GROUP - 1) / GROUP, groups01 = groups0 + (m1.n + GROUP - 1) / GROUP;
  unsigned groups = groups01 + (m2.n + GROUP - 1) / GROUP, each = groups / gridDim.x, more = groups % gridDim.x;
  int count = each + (blockIdx.x < more), first = blockIdx.x * each + (blockIdx.x < more ? blockIdx.x : more);
  // Two passes have about the same height, for it decides how many bytes are under way.
  int height = count > HEIGHT && count <= 2 * HEIGHT ? (count + 1) / 2 : HEIGHT;
  return {m0, m1, m2, groups0, groups01, first, first + count, height, segments_of(k)};
}

// next is where the pass after the one that begins with a group begins.
template <class T>
DEVICE int next(const Run<T> &r, int group) {
  int most = group < r.groups0 ? r.groups0 : group < r.groups01 ? r.groups01 : r.end;
  return lesser(lesser(group + r.height, most), r.end);
}

// later is a number of units later.
template <class T>
DEVICE Unit later(const Run<T> &r, Unit u, int units) {
  u.segment += units;
  while (u.segment >= r.segments && u.group < r.end) u = {next(r, u.group), u.segment - r.segments};
  return u;
}

// Pass is up to 32 columns of a matrix.
template <class T>
struct Pass {
  Matrix<T> m;
  int first, columns;
};

template <class T>
DEVICE Pass<T> pass_of(const Run<T> &r, int group) {
  // One by one, since a choice between structures is a choice between addresses.
  auto of = [&](auto x0, auto x1, auto x2) { return group < r.groups0 ? x0 : group < r.groups01 ? x1 : x2; };
  Matrix<T> m = {of(r.m0.w, r.m1.w, r.m2.w), of(r.m0.bias, r.m1.bias, r.m2.bias), of(r.m0.out, r.m1.out, r.m2.out), of(r.m0.n, r.m1.n, r.m2.n)};
  int first = (group - of(0, r.groups0, r.groups01)) * GROUP;
  return {m, first, lesser((next(r, group) - group) * GROUP, m.n - first)};
}

// chunks_of is how many chunks of 64 elements a segment has.
DEVICE int chunks_of(int segment, int k) { return (lesser(k - segment * SEGMENT, SEGMENT) + TILE_K - 1) / TILE_K; }

// Copier copies this warp's units to its stages, chunk by chunk.
template <class T>
struct Copier {
  Unit unit;
  int chunks;        // of the unit that are left; 0: of all units
  const T *w, *in;   // where this lane begins in the next chunk
  int columns, rows; // of the pass and of in, from this lane's first on
  int elements;      // of K, from this lane's on
};

// aim makes a copier begin with its unit.
template <class T>
DEVICE void aim(Copier<T> &c, const Run<T> &r, const T *in, int row, int k) {
  c.chunks = 0;
  if (c.unit.group >= r.end) return;
  Pass<T> p = pass_of(r, c.unit.group);
  int lane = threadIdx.x % 32, from = c.unit.segment * SEGMENT + lane % ROW_CHUNKS * 8;
  c.chunks = chunks_of(c.unit.segment, k);
  c.w = p.m.w + int64_t(p.first + lane / ROW_CHUNKS) * k + from;
  c.in = in + int64_t(row + lane / ROW_CHUNKS) * k + from;
  c.columns = p.columns - lane / ROW_CHUNKS;
  c.elements = k - from;
}

template <class T>
DEVICE void copy_weights(const Copier<T> &c, unsigned char *stage, int64_t k) {
  int row = threadIdx.x % 32 / ROW_CHUNKS, chunk = threadIdx.x % ROW_CHUNKS;
  UNROLL
  for (int i = 0; i < W_ROWS; i += STEP)
    cp_async16(chunk_of(stage, row + i, chunk), c.w + i * k, c.elements > 0 && i < c.columns);
}

template <int TOKENS, class T>
DEVICE void copy_tokens(const Copier<T> &c, unsigned char *stage, int64_t k) {
  int row = threadIdx.x % 32 / ROW_CHUNKS, chunk = threadIdx.x % ROW_CHUNKS;
  UNROLL
  for (int i = 0; i < TOKENS; i += STEP)
    cp_async16_cached(chunk_of(stage, W_ROWS + row + i, chunk), c.in + i * k, c.elements > 0 && i < c.rows);
}

// Sum is what a thread puts together: a column of a pass, and every eighth token.
template <int TILES>
struct Sum {
  float total[TILES], old[TILES], bias;
  float *out; // of the first token
  int n;
  int tokens; // from the first on; 0: the pass has no such column
  bool biased;
};

// begin reads what follows the sums of a pass.
template <class T, int TILES>
DEVICE void begin(Sum<TILES> &s, const Run<T> &r, int group, int row, int rows, int accumulate) {
  if (group >= r.end) return;
  Pass<T> p = pass_of(r, group);
  int column = threadIdx.x % W_ROWS;
  row += threadIdx.x / W_ROWS;
  s.n = p.m.n;
  s.out = p.m.out + int64_t(row) * s.n + p.first + column;
  s.tokens = column < p.columns ? rows - row : 0;
  s.biased = p.m.bias;
  if (s.biased && s.tokens > 0) s.bias = p.m.bias[p.first + column];
  UNROLL
  for (int t = 0; t < TILES; t++) {
    s.total[t] = 0;
    if (accumulate && t * 8 < s.tokens) s.old[t] = s.out[int64_t(t * 8) * s.n];
  }
}

template <int TILES>
DEVICE void end(const Sum<TILES> &s, int accumulate) {
  UNROLL
  for (int t = 0; t < TILES; t++) {
    float total = s.total[t];
    if (s.biased) total = fadd(total, s.bias);
    if (accumulate) total = fadd(total, s.old[t]);
    if (t * 8 < s.tokens) s.out[int64_t(t * 8) * s.n] = total;
  }
}

template <class T, int TILES>
DEVICE void run(const int32_t *count, const T *in, Matrix<T> m0, Matrix<T> m1, Matrix<T> m2, int k, int accumulate) {
  using R = Ring<TILES>;
  DYNAMIC_SHARED(memory);
  SHARED(float, sums, [WARPS][R::SUMS]);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned char *ring = memory + warp * R::BYTES;
  const Run<T> run = run_of(m0, m1, m2, k);
  int row = blockIdx.y * R::TOKENS;
  Unit round = {run.first, 0};
  Copier<T> copier;
  copier.unit = later(run, round, warp);
  aim(copier, run, in, row, k);
  if (copier.chunks > 0) copy_weights(copier, ring, k);
  wait_for_previous(); // for the tokens and count; nothing writes weights
  int rows = *count;
  copier.rows = rows - row - lane / ROW_CHUNKS;
  auto rest = [&](unsigned char *stage) { // of the copy of a chunk
    copy_tokens<R::TOKENS>(copier, stage, k);
    copier.w += TILE_K;
    copier.in += TILE_K;
    copier.elements -= TILE_K;
    if (--copier.chunks == 0) {
      copier.unit = later(run, copier.unit, WARPS);
      aim(copier, run, in, row, k);
    }
  };
  auto fetch = [&](int stage) { // after the last chunk groups of copies are empty
    if (copier.chunks > 0) {
      copy_weights(copier, ring + stage * R::STAGE_BYTES, k);
      rest(ring + stage * R::STAGE_BYTES);
    }
    cp_async_commit();
  };
  if (copier.chunks > 0) rest(ring);
  cp_async_commit();
  for (int i = 1; i < R::STAGES - 1; i++) fetch(i);

  Sum<TILES> sum;
  begin(sum, run, round.group, row, rows, accumulate);
  int stage = 0;
  while (round.group < run.end) {
    Unit unit = later(run, round, warp);
    float acc[2][TILES][4] = {};
    for (int chunks = unit.group < run.end ? chunks_of(unit.segment, k) : 0; chunks > 0; chunks--) {
      cp_async_wait<R::STAGES - 2>();
      __syncwarp();
      fetch(stage == 0 ? R::STAGES - 1 : stage - 1);
      unsigned char *weights = ring + stage * R::STAGE_BYTES, *tokens = weights + W_ROWS * ROW_BYTES;
      if (++stage == R::STAGES) stage = 0;
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
    UNROLL
    for (int m = 0; m < 2; m++)
      UNROLL
      for (int t = 0; t < TILES; t++)
        UNROLL
        for (int c = 0; c < 4; c++) sums[warp][(t * 8 + lane % 4 * 2 + c % 2) * R::STRIDE + m * 16 + lane / 4 + c / 2 * 8] = acc[m][t][c];
    __syncthreads();
    // The units of this round, in order.
    for (int u = 0; u < WARPS && round.group < run.end;) {
      int most = lesser(u + run.segments - round.segment, WARPS);
      round.segment += most - u;
      UNROLL_BY(4)
      for (; u < most; u++)
        UNROLL
        for (int t = 0; t < TILES; t++) {
          int token = threadIdx.x / W_ROWS + t * 8;
          sum.total[t] = fadd(sum.total[t], sums[u][token * R::STRIDE + threadIdx.x % W_ROWS]);
        }
      if (round.segment == run.segments) {
        end(sum, accumulate);
        round = {next(run, round.group), 0};
        begin(sum, run, round.group, row, rows, accumulate);
      }
    }
    __syncthreads();
  }
  cp_async_wait<0>(); // of empty groups only
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
