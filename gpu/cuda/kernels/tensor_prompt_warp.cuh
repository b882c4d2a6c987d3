// What a warp of attention_prompt computes of a block of 64 positions: q.k, weights, and their products with V.
#pragma once
#include "tensor_prompt_copy.cuh"

namespace flash_prompt {

// A lane's row of matrices of 16 x 16 in tiles of K, and of V, for step 0 of its 64 elements.
DEVICE int key_place() {
  unsigned lane = own() % 32;
  return (lane % 8 + lane / 16 * 8) * ROW_BYTES + ((lane / 8 % 2 ^ lane % 8) * 16);
}
DEVICE int value_place() {
  unsigned lane = own() % 32;
  return lane % 16 * ROW_BYTES + ((lane / 16 ^ lane % 8) * 16);
}
// place_of is the address of rows from row on, a multiple of 16, and a step.
DEVICE const unsigned char *place_of(const unsigned char *tiles, int place, int row, int step) {
  return tiles + (place ^ step % 4 * 32) + step / 4 * TILE_BYTES + row * ROW_BYTES;
}

// Query is what a warp multiplies with: its rows as the first operand, of which a lane has parts of two rows. They stay in
// registers, or for head_dim 64 in shared memory, where each lane has its own.
template <int D>
constexpr bool HELD = D > 64;
template <int D>
constexpr int QUERY_BYTES = HELD<D> ? 0 : ROWS * D * 2;
template <int D>
struct Query {
  uint32_t step[D / 16][4];
};
// load_query rounds queries; q is null for a row without one.
template <int D, class H>
DEVICE void load_query(Query<D> &query, const float *const (&q)[2], int head_dim) {
  UNROLL
  for (int i = 0; i < D / 16; i++)
    UNROLL
    for (int c = 0; c < 4; c++) {
      int element = i * 16 + c / 2 * 8 + own() % 4 * 2;
      Two x = {0, 0};
      if (q[c % 2] && element < head_dim) x = *(const Two *)(q[c % 2] + element);
      query.step[i][c] = pack_factors<H>(x[0], x[1]);
    }
}
template <int D>
DEVICE void put_query(Words *lanes, const Query<D> &q) {
  UNROLL
  for (int i = 0; i < D / 16; i++) lanes[i * 32] = Words{q.step[i][0], q.step[i][1], q.step[i][2], q.step[i][3]};
}

// Matrices are loaded some products before their use.
template <int D>
constexpr int KEYS_AHEAD = D == 64 ? 4 : 8;
template <int D>
constexpr int VALUES_AHEAD = D == 64 ? 2 : 4;

// multiply makes the products of the warp's queries and the keys of a block.
template <int D, class H>
DEVICE void multiply(float (&score)[BLOCK / 8][4], const Query<D> &q, const Words *lanes, const unsigned char *keys) {
  constexpr int COLUMNS = BLOCK / 16, ALL = D / 16 * COLUMNS, AHEAD = KEYS_AHEAD<D>;
  int place = key_place();
  uint32_t b[AHEAD][4], a[4];
  UNROLL
  for (int n = 0; n < AHEAD; n++) ldmatrix_x4(b[n], place_of(keys, place, n % COLUMNS * 16, n / COLUMNS));
  UNROLL
  for (int j = 0; j < BLOCK / 8; j++)
    UNROLL
    for (int c = 0; c < 4; c++) score[j][c] = 0;
  UNROLL
  for (int n = 0; n < ALL; n++) {
    int j = n % COLUMNS, step = n / COLUMNS, next = n + AHEAD;
    if (j == 0) {
      Words words = {};
      if (!HELD<D>) words = lanes[step * 32];
      UNROLL
      for (int c = 0; c < 4; c++) a[c] = HELD<D> ? q.step[step][c] : words[c];
    }
    mma<H>(score[2 * j], a, b[n % AHEAD][0], b[n % AHEAD][1]);
    mma<H>(score[2 * j + 1], a, b[n % AHEAD][2], b[n % AHEAD][3]);
    if (next < ALL) ldmatrix_x4(b[n % AHEAD], place_of(keys, place, next % COLUMNS * 16, next / COLUMNS));
  }
}

// raise turns products into scores and finds the new peaks. A peak that is not a number or infinite makes all sums of its
// row NaN, by shrink, since weights do not.
template <bool RAGGED, bool SCALED, int D>
DEVICE void raise(State<D> &s, float (&score)[BLOCK / 8][4], float (&shrink)[2], const float *key_scale, int base, const int (&end)[2],
                  float scale) {
  int t = own() % 4;
  float highest[2][4]; // of every fourth column, so that few wait for each other
  UNROLL
  for (int j = 0; j < BLOCK / 8; j++)
    UNROLL
    for (int r = 0; r < 2; r++) {
      UNROLL
      for (int c = 0; c < 2; c++) {
        int i = j * 8 + t * 2 + c;
        float &x = score[j][r * 2 + c];
        if (SCALED) x = fmul(x, key_scale[i]);
        x = fmul(x, scale);
        if (RAGGED) x = base + i < end[r] ? x : -INFINITE;
      }
      float larger = fmaximum_nan(score[j][r * 2], score[j][r * 2 + 1]);
      highest[r][j % 4] = j < 4 ? larger : fmaximum_nan(highest[r][j % 4], larger);
    }
  UNROLL
  for (int r = 0; r < 2; r++) {
    float peak = fmaximum_nan(fmaximum_nan(highest[r][0], highest[r][1]), fmaximum_nan(highest[r][2], highest[r][3]));
    peak = fmaximum_nan(peak, __shfl_xor_sync(ALL_LANES, peak, 2));
    peak = fmaximum_nan(peak, __shfl_xor_sync(ALL_LANES, peak, 1));
    peak = fmaximum_nan(s.peak[r], peak);
    shrink[r] = fadd(exp_number(fsub(s.peak[r], peak)), fsub(peak, peak));
    s.peak[r] = peak;
  }
}

// weigh makes the weights of 16 positions, as the first operand, and adds them to sum.
template <bool RAGGED, class T, int D>
DEVICE void weigh(uint32_t (&pair)[4], float (&sum)[2], const State<D> &s, const float (&score)[BLOCK / 8][4], int j, const float *value_scale,
                  int base, const int (&end)[2]) {
  int t = own() % 4;
  UNROLL
  for (int h = 0; h < 2; h++)
    UNROLL
    for (int r = 0; r < 2; r++) {
      float w[2];
      UNROLL
      for (int c = 0; c < 2; c++) {
        int i = j * 16 + h * 8 + t * 2 + c;
        w[c] = exp_number(fsub(score[2 * j + h][r * 2 + c], s.peak[r]));
        sum[r] = fadd(sum[r], w[c]);
        // A slot that is not seen may have any scale.
        if (sizeof(T) == 1) w[c] = !RAGGED || base + i < end[r] ? fmul(w[c], value_scale[i]) : 0;
      }
      pair[h * 2 + r] = pack_factors<Half<T>>(w[0], w[1]);
    }
}

template <int D>
DEVICE void join_totals(State<D> &s, float (&sum)[2], const float (&shrink)[2]) {
  UNROLL
  for (int r = 0; r < 2; r++) {
    sum[r] = fadd(sum[r], __shfl_xor_sync(ALL_LANES, sum[r], 2));
    sum[r] = fadd(sum[r], __shfl_xor_sync(ALL_LANES, sum[r], 1));
    s.total[r] = ffma(s.total[r], shrink[r], sum[r]);
  }
}

template <int D>
DEVICE void shrink_sums(State<D> &s, const float (&shrink)[2]) {
  UNROLL
  for (int i = 0; i < WIDTH<D> / 8; i++)
    UNROLL
    for (int c = 0; c < 4; c++) s.sums[i][c] = fmul(s.sums[i][c], shrink[c / 2]);
}

// Values are matrices of V on their way to products.
template <int D>
struct Values {
  int place;
  uint32_t b[VALUES_AHEAD<D>][4]; // elements 0 to 7 and 8 to 15
};
template <int D>
DEVICE void load(Values<D> &v, const unsigned char *values, int n) {
  constexpr int ROW = WIDTH<D> / 16;
  if (n < BLOCK / 16 * ROW) ldmatrix_x4_trans(v.b[n % VALUES_AHEAD<D>], place_of(values, v.place, n / ROW * 16, n % ROW));
}
template <int D>
DEVICE void load_first(Values<D> &v, const unsigned char *values) {
  v.place = value_place();
  UNROLL
  for (int n = 0; n < VALUES_AHEAD<D>; n++) load(v, values, n);
}

// add adds the values of 16 positions, of this warp's elements, to the sums. Those from position 16 on follow at once.
template <int D, class H>
DEVICE void add(State<D> &s, Values<D> &v, const uint32_t (&pair)[4], const unsigned char *values, int j) {
  constexpr int AHEAD = VALUES_AHEAD<D>;
  UNROLL
  for (int i = 0; i < WIDTH<D> / 16; i++) {
    int n = j * (WIDTH<D> / 16) + i;
    mma<H>(s.sums[2 * i], pair, v.b[n % AHEAD][0], v.b[n % AHEAD][1]);
    mma<H>(s.sums[2 * i + 1], pair, v.b[n % AHEAD][2], v.b[n % AHEAD][3]);
    load(v, values, n + AHEAD);
  }
}

// add_seen is add row by row, with zeros in place of what the row does not see, which may be infinite or NaN.
template <int D, class H>
DEVICE void add_seen(State<D> &s, const uint32_t (&pair)[4], const unsigned char *values, int j, int base, const int (&end)[2]) {
  int lane = own() % 32;
  int place = value_place();
  UNROLL
  for (int i = 0; i < WIDTH<D> / 16; i++) {
    uint32_t b[4];
    ldmatrix_x4_trans(b, place_of(values, place, j * 16, i));
    float before[2][4], after[2][4];
    UNROLL
    for (int c = 0; c < 4; c++) {
      before[0][c] = after[0][c] = s.sums[2 * i][c];
      before[1][c] = after[1][c] = s.sums[2 * i + 1][c];
    }
    UNROLL_BY(1)
    for (int r = 0; r < ROWS; r++) {
      int sees = __shfl_sync(ALL_LANES, r < 8 ? end[0] : end[1], r % 8 * 4);
      uint32_t seen[4];
      UNROLL
      for (int h = 0; h < 4; h++) {
        int position = base + j * 16 + h % 2 * 8 + lane % 4 * 2;
        seen[h] = b[h] & ((position < sees ? 0xffffu : 0) | (position + 1 < sees ? 0xffff0000u : 0));
      }
      float one[2][4];
      UNROLL
      for (int c = 0; c < 4; c++) one[0][c] = before[0][c], one[1][c] = before[1][c];
      mma<H>(one[0], pair, seen[0], seen[1]);
      mma<H>(one[1], pair, seen[2], seen[3]);
      UNROLL
      for (int c = 0; c < 4; c++)
        if (lane / 4 + c / 2 * 8 == r) after[0][c] = one[0][c], after[1][c] = one[1][c];
    }
    UNROLL
    for (int c = 0; c < 4; c++) s.sums[2 * i][c] = after[0][c], s.sums[2 * i + 1][c] = after[1][c];
  }
}

// finite reports whether this warp's part of a tile of values is.
template <int D, class T>
DEVICE bool finite(const unsigned char *values) {
  if constexpr (sizeof(T) == 1) return true; // the scales are not multiplied where a row does not see
  constexpr uint32_t EXPONENT = __is_same(Half<T>, bf16) ? 0x7f80 : 0x7c00, UNIT = EXPONENT & -EXPONENT;
  uint32_t all = 0; // the sign bits of halves whose exponent is all ones
  for (int i = own() % 32; i < WIDTH<D> / TILE_K * TILE_BYTES / 4; i += 32) {
    uint32_t pair = ((const uint32_t *)values)[i];
    all |= (pair & EXPONENT * 0x10001) + UNIT * 0x10001;
  }
  return !__any_sync(ALL_LANES, (all & 0x80008000) != 0);
}

} // namespace flash_prompt
