// Attention on tensor cores for 16 rows of queries and a block of 64 positions, by one warp. The kernels for decode and
// for prompts differ in which queries are rows, in who copies K and V, and in how a warp computes; a query's bits are the
// same.
//
// Order of sums, for each query: q is rounded to the pool's type (bfloat16 for int8);
//   score = (q.k as tensor.cuh says) x scale; with int8 k are the codes, and the sum is multiplied by k's scale first;
//   blocks of 64 positions from 0: the peak becomes the larger of the old one and the block's; weights are
//   e^(score - peak); total and sums shrink by e^(old peak - peak);
//   the block's weights are added so: for t = 0 to 3 those of positions 8 j + 2 t and 8 j + 2 t + 1 in ascending order
//   from zero, then (t0 + t2) + (t1 + t3); they join the total by FMA;
//   weights are rounded to 16 bits (with int8: after multiplying by v's scale), and weight x v joins the sums in 4 steps
//   of 16 positions. What a query does not see has weight 0 and takes no part: v counts as 0 there.
//   512 positions are a segment, which begins from nothing. Segments are merged in order (order.cuh). At the end
//   sums / total.
#pragma once
#include "kv.cuh"
#include "tensor.cuh"

namespace flash {

constexpr int ROWS = 16;                        // of a warp
constexpr int TILE_BYTES = BLOCK * ROW_BYTES;   // of 64 positions x 64 elements
template <int D>
constexpr int KV_BYTES = D / TILE_K * TILE_BYTES; // of K, or V, of a block

// A warp keeps sums of at most 128 elements. Wider heads have teams of two warps, each with its half of the elements,
// which compute the same weights.
template <int D>
constexpr int WIDTH = D < 128 ? D : 128; // elements of a warp
template <int D>
constexpr int TEAM = D / WIDTH<D>;

// Half is the type that products are computed in.
template <class T>
struct HalfOf {
  using Type = T;
};
template <>
struct HalfOf<i8> {
  using Type = bf16;
};
template <class T>
using Half = typename HalfOf<T>::Type;

// State is one segment of a warp's rows: of row lane / 4 and of that + 8.
template <int D>
struct State {
  float peak[2], total[2], sums[WIDTH<D> / 8][4];
};

template <int D>
DEVICE void begin(State<D> &s) {
  s.peak[0] = s.peak[1] = -INFINITE;
  s.total[0] = s.total[1] = 0;
  UNROLL
  for (int i = 0; i < WIDTH<D> / 8; i++)
    UNROLL
    for (int c = 0; c < 4; c++) s.sums[i][c] = 0;
}

// copy_vectors starts the copy of the vectors of n positions into tiles, by THREADS threads. Positions from n on and
// elements from head_dim on are zeros. head_dim is a multiple of 8.
template <int D, int THREADS, class T>
DEVICE void copy_vectors(unsigned char *tiles, const T *pool, const int64_t *vector, int head_dim, int n, int thread) {
  constexpr int CHUNKS = D / 8, STEP = THREADS / CHUNKS;
  static_assert(THREADS % CHUNKS == 0, "a thread keeps its chunk");
  thread = here(thread);
  int chunk = thread % CHUNKS;
  bool inside = chunk * 8 < head_dim;
  unsigned char *tile = tiles + chunk / ROW_CHUNKS * TILE_BYTES;
  UNROLL_BY(4)
  for (int i = 0; i < BLOCK / STEP; i++) {
    int row = thread / CHUNKS + i * STEP;
    bool use = inside && row < n;
    const T *from = use ? pool + vector[row] * head_dim + chunk * 8 : pool;
    unsigned char *to = chunk_of(tile, row, chunk % ROW_CHUNKS);
    if constexpr (sizeof(T) == 2) {
      cp_async16(to, from, use);
    } else {
      // Codes widen to bfloat16 exactly; there is no asynchronous copy that does it.
      typedef int8_t Eight __attribute__((vector_size(8)));
      typedef uint32_t Words __attribute__((vector_size(16)));
      Words words = {0, 0, 0, 0};
      if (use) {
        Eight codes = *(const Eight *)from;
        UNROLL
        for (int i = 0; i < 4; i++) words[i] = bits_of(float(codes[2 * i])) >> 16 | (bits_of(float(codes[2 * i + 1])) & 0xffff0000);
      }
      *(Words *)to = words;
    }
  }
}

// put_query rounds a query into a row of tiles of tile_rows rows, by THREADS threads; without one it is zeros.
template <int D, int THREADS, class T>
DEVICE void put_query(unsigned char *tiles, int tile_rows, int row, const float *q, int head_dim, int thread) {
  for (int i = thread; i < D / 2; i += THREADS) {
    float low = q && 2 * i < head_dim ? q[2 * i] : 0, high = q && 2 * i + 1 < head_dim ? q[2 * i + 1] : 0;
    unsigned char *tile = tiles + i / (TILE_K / 2) * tile_rows * ROW_BYTES;
    *(uint32_t *)(chunk_of(tile, row, i / 4 % ROW_CHUNKS) + i % 4 * 4) = pack<Half<T>>(low, high);
  }
}

// Weights are those of a block for the sums of its values: pairs of positions as the first operand, and what the sums
// so far are multiplied by.
struct Weights {
  uint32_t pair[BLOCK / 16][4];
  float shrink[2];
};

// weigh computes the weights of a block that begins at position base. queries are tiles of tile_rows rows, of which the
// warp's begin at row. end are the positions that this lane's two rows see, counted from 0. The scales [64] are for int8.
template <int D, class T>
DEVICE Weights weigh(State<D> &s, unsigned char *queries, int tile_rows, int row, unsigned char *keys, const float *key_scale,
                     const float *value_scale, int base, const int (&end)[2], float scale) {
  using H = Half<T>;
  constexpr bool SCALED = sizeof(T) == 1;
  int lane = here(threadIdx.x) % 32, t = lane % 4;
  float score[BLOCK / 8][4] = {};
  UNROLL_BY(D <= 128 ? 4 : 2)
  for (int step = 0; step < D / 16; step++) {
    uint32_t a[4];
    load_a(a, queries + step / 4 * tile_rows * ROW_BYTES, row, step % 4);
    UNROLL
    for (int j = 0; j < BLOCK / 16; j++) {
      uint32_t b[4];
      load_b(b, keys + step / 4 * TILE_BYTES, j * 16, step % 4);
      mma<H>(score[2 * j], a, b[0], b[1]);
      mma<H>(score[2 * j + 1], a, b[2], b[3]);
    }
  }

  float highest[2] = {-INFINITE, -INFINITE};
  UNROLL
  for (int j = 0; j < BLOCK / 8; j++)
    UNROLL
    for (int c = 0; c < 4; c++) {
      int i = j * 8 + t * 2 + c % 2;
      float x = score[j][c];
      if (SCALED) x = fmul(x, key_scale[i]);
      x = fmul(x, scale);
      x = base + i < end[c / 2] ? x : -INFINITE;
      score[j][c] = x;
      highest[c / 2] = flarger(highest[c / 2], x);
    }
  Weights out;
  float sum[2] = {0, 0};
  UNROLL
  for (int r = 0; r < 2; r++) {
    highest[r] = flarger(highest[r], __shfl_xor_sync(ALL_LANES, highest[r], 2));
    highest[r] = flarger(highest[r], __shfl_xor_sync(ALL_LANES, highest[r], 1));
    highest[r] = flarger(s.peak[r], highest[r]);
    out.shrink[r] = exp_not_positive(fsub(s.peak[r], highest[r])); // a row that sees nothing becomes NaN; it has no result
    s.peak[r] = highest[r];
  }
  UNROLL
  for (int j = 0; j < BLOCK / 8; j++)
    UNROLL
    for (int r = 0; r < 2; r++) {
      float w[2];
      UNROLL
      for (int c = 0; c < 2; c++) {
        w[c] = exp_not_positive(fsub(score[j][r * 2 + c], s.peak[r]));
        sum[r] = fadd(sum[r], w[c]);
        // A slot that is not seen may have any scale.
        if (SCALED) w[c] = base + j * 8 + t * 2 + c < end[r] ? fmul(w[c], value_scale[j * 8 + t * 2 + c]) : 0;
      }
      out.pair[j / 2][j % 2 * 2 + r] = pack_factors<H>(w[0], w[1]);
    }
  UNROLL
  for (int r = 0; r < 2; r++) {
    sum[r] = fadd(sum[r], __shfl_xor_sync(ALL_LANES, sum[r], 2));
    sum[r] = fadd(sum[r], __shfl_xor_sync(ALL_LANES, sum[r], 1));
    s.total[r] = ffma(s.total[r], out.shrink[r], sum[r]);
  }
  return out;
}

// add adds the block's values, of this warp's elements, to the sums. What a row does not see has to be finite there.
template <int D, class T>
DEVICE void add(State<D> &s, const Weights &w, unsigned char *values, int, const int (&)[2], bool) {
  using H = Half<T>;
  int lane = here(threadIdx.x) % 32;
  UNROLL
  for (int i = 0; i < WIDTH<D> / 16; i++) {
    UNROLL
    for (int c = 0; c < 4; c++) {
      s.sums[2 * i][c] = fmul(s.sums[2 * i][c], w.shrink[c / 2]);
      s.sums[2 * i + 1][c] = fmul(s.sums[2 * i + 1][c], w.shrink[c / 2]);
    }
    uint32_t b[BLOCK / 16][4]; // V of 16 elements: for each 16 positions, elements 0 to 7 and 8 to 15
    UNROLL
    for (int j = 0; j < BLOCK / 16; j++)
      ldmatrix_x4_trans(b[j], chunk_of(values + i / 4 * TILE_BYTES, j * 16 + lane % 16, i % 4 * 2 + lane / 16));
    UNROLL
    for (int j = 0; j < BLOCK / 16; j++) {
      mma<H>(s.sums[2 * i], w.pair[j], b[j][0], b[j][1]);
      mma<H>(s.sums[2 * i + 1], w.pair[j], b[j][2], b[j][3]);
    }
  }
}

// Out is where results go: float32, or rounded to 16 bits for the product that follows.
struct Out {
  void *to;
  int kind; // 0 float32, 1 bfloat16, 2 float16
};
DEVICE void put(const Out &out, int64_t at, float x) {
  if (out.kind == 0) ((float *)out.to)[at] = x;
  if (out.kind == 1) ((bf16 *)out.to)[at] = bf16{to_bf16(x)};
  if (out.kind == 2) ((f16 *)out.to)[at] = f16{to_f16(x)};
}

// follows reports whether a token continues the sequence of the one before it in the step.
DEVICE bool follows(const Step *step, int token, int before) {
  return before >= 0 && token < step->tokens && step->token_row[token] == step->token_row[before] &&
         step->token_position[token] == step->token_position[before] + 1;
}

// alone reports whether a token is the only new one of its sequence. The others are parts of prompts.
DEVICE bool alone(const Step *step, int token) { return !follows(step, token, token - 1) && !follows(step, token + 1, token); }

} // namespace flash
