// attention_prompt: attention of tokens that are several of their sequence, on tensor cores. Tokens that are alone are
// left to attention_decode: both kernels are started for every step that may have both.
//
// Shapes: as attention_decode. heads / kv_heads is at most 64.
// Order of sums: tensor_attention.cuh, the same as of attention_decode.
// Launch: grid (any number; ceil(rows / floor(tile kv_heads / heads)) tiles are useful, of 128 rows, or 64 for head_dim
//   256; kv_heads), block 256, dynamic shared memory 90,112, 147,456 and 163,840 bytes for 64, 128 and 256.
//
// The rows of a block are the query heads of one KV head for consecutive tokens of one sequence. Its warps share the
// tiles of K and V. The next ones fill while one is computed with; for head_dim 256 there is room for one only, and V
// fills during the products with K, K during those with V. Codes of int8 are copied a block earlier still, and each thread
// widens those that it copied itself. Queries stay in registers (in
// shared memory for head_dim 64), sums of earlier segments wait in shared memory. Blocks
// that all rows of a warp see wholly, nearly all of them, are computed without masks. Tiles with the longest contexts
// start first.
//
// Limits of a block of 64 positions on a quarter of an H200's multiprocessor, for head_dim 128 and a warp of 16 rows:
// 128 products of 6 to 8 cycles, about 1,100 instructions, 1,150 cycles of shared memory (64 matrices of 512 bytes for
// each of 4 warps, half of a copy of 32 KiB). Two warps overlap these.
//
// | version | what | time on an H200: 8,192 tokens, 32 heads, 8 KV, head_dim 128, bfloat16; int8 |
// |---|---|---|
// | 1 | 4 teams of 16 rows, 2 stages (1 for head_dim 256), one block a multiprocessor | 9.44 ms (58 TFLOP/s); 16.7 ms |
// | 2 | 8 warps, queries in registers, no masks where all is seen, int8 by asynchronous copies | 2.80 ms (196 TFLOP/s); 3.41 ms |
#include "tensor_attention.cuh"

namespace prompt {

using namespace flash;

constexpr int THREADS = 256;
template <int D>
constexpr int TEAMS = THREADS / 32 / TEAM<D>;
template <int D>
constexpr int TILE_ROWS = TEAMS<D> * ROWS;
template <int D>
constexpr int STAGES = D == 256 ? 1 : 2;

// Blocks on a multiprocessor, which on sm_80 has too little shared memory for two.
template <int D, class T>
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr int BLOCKS = D == 64 && sizeof(T) == 2 ? 2 : 1;
#else
constexpr int BLOCKS = 1;
#endif

// Dynamic shared memory: stages of K and V, of int8 also codes of K and V; sums of earlier segments; queries, if they do not
// stay in registers.
template <int D>
constexpr int STAGE_BYTES = 2 * KV_BYTES<D>;
template <int D>
constexpr int CODES_BYTES = BLOCK * D; // of K, or V
template <int D, class T>
constexpr int SUMS_AT = STAGES<D> * STAGE_BYTES<D> + (sizeof(T) == 1 ? 2 * CODES_BYTES<D> : 0);
template <int D>
constexpr int SUMS_BYTES = ROWS * WIDTH<D> * 4; // of a warp

template <class T>
struct Args {
  const Step *step;
  const float *q;
  Out out;
  const T *kpool, *vpool;
  const float *kscale, *vscale;
  int heads, kv_heads, head_dim;
  float scale;
};

// Shared is what threads know about blocks: where vectors lie in the pools, for the block that is computed with and
// three after it, counted in elements, or for int8 in vectors; scales of that block and of the next.
template <class T>
struct Shared {
  int64_t vector[4][BLOCK];
  const int32_t *pages; // of the sequence: not in registers
};
template <>
struct Shared<i8> {
  int64_t vector[4][BLOCK];
  float key_scale[2][BLOCK], value_scale[2][BLOCK]; // these are all that sm_80 has room for
};

// own is this thread's number, from which addresses are computed at each place: registers are dear.
DEVICE unsigned own() { return here(threadIdx.x); }

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
  typedef float Two __attribute__((vector_size(8)));
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
typedef uint32_t Words __attribute__((vector_size(16)));
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

// copy starts the copy of a thread's chunks of K, or V, or both, of n positions: 16 bytes of every THREADS / CHUNKS-th
// position. Elements from head_dim on and positions from n on are zeros.
template <int D, class T>
DEVICE void copy(bool k, bool v, unsigned char *keys, const T *kpool, const T *vpool, const int64_t *vector, int n, int head_dim) {
  constexpr int CHUNKS = D / 8, STEP = THREADS / CHUNKS;
  static_assert(STEP % 8 == 0, "chunks are exchanged in the same way in all rows of a thread");
  unsigned thread = own(), first = thread / CHUNKS, chunk = thread % CHUNKS;
  unsigned char *to = keys + chunk / ROW_CHUNKS * TILE_BYTES + first * ROW_BYTES + (chunk % ROW_CHUNKS ^ first % 8) * 16;
  int element = chunk * 8;
  bool inside = element < head_dim;
  if (!inside) element = 0;
  auto one = [&](int i, bool use) {
    int64_t at = use ? vector[first + i * STEP] + element : 0;
    if (k) cp_async16(to + i * STEP * ROW_BYTES, kpool + at, use && inside);
    if (v) cp_async16(to + KV_BYTES<D> + i * STEP * ROW_BYTES, vpool + at, use && inside);
  };
  if (n >= BLOCK) {
    UNROLL
    for (int i = 0; i < BLOCK / STEP; i++) one(i, true);
  } else {
    UNROLL_BY(1)
    for (int i = 0; i < BLOCK / STEP; i++) one(i, int(first) + i * STEP < n);
  }
}

// Codes of int8: a thread has 16 elements of a position of each tile, in the order of the threads.
constexpr int CODES = 16, TILE_CODES = BLOCK * TILE_K;
static_assert(THREADS * CODES == TILE_CODES, "every thread has codes of a position");

// copy_codes starts the copy of a thread's codes of the vectors of n positions.
template <int D>
DEVICE void copy_codes(unsigned char *codes, const i8 *pool, const int64_t *vector, int n, int head_dim) {
  unsigned thread = own(), row = thread / (TILE_K / CODES);
  int element = thread % (TILE_K / CODES) * CODES;
  int inside = int(row) < n ? head_dim - element : 0;
  const i8 *at = inside > 0 ? pool + (vector[row] * head_dim + element) : pool;
  UNROLL
  for (int tile = 0; tile < D / TILE_K; tile++) {
    unsigned char *to = codes + tile * TILE_CODES + thread * CODES;
    if (head_dim % 16 == 0) {
      cp_async16(to, at + tile * TILE_K, inside > tile * TILE_K);
    } else {
      cp_async8(to, at + tile * TILE_K, inside > tile * TILE_K);
      cp_async8(to + 8, at + tile * TILE_K + 8, inside > tile * TILE_K + 8);
    }
  }
}

// widen_codes writes a thread's codes, whose copy is over, into tiles as bfloat16, which is exact.
template <int D>
DEVICE void widen_codes(unsigned char *tiles, const unsigned char *codes) {
  unsigned thread = own(), row = thread / (TILE_K / CODES), chunk = thread % (TILE_K / CODES) * 2;
  UNROLL
  for (int tile = 0; tile < D / TILE_K; tile++) {
    Words all = *(const Words *)(codes + tile * TILE_CODES + thread * CODES);
    UNROLL
    for (int h = 0; h < 2; h++) {
      Words words;
      UNROLL
      for (int i = 0; i < 4; i++) {
        // 2^23 + 128 + code, as the bits of a float.
        uint32_t four = all[h * 2 + i / 2] ^ 0x80808080;
        float two[2];
        UNROLL
        for (int k = 0; k < 2; k++) two[k] = fsub(float_of(0x4b000000 | (four >> (i % 2 * 16 + k * 8) & 0xff)), 0x1.0001p23f);
        words[i] = pair_bf16(two[0], two[1]);
      }
      *(Words *)(tiles + tile * TILE_BYTES + row * ROW_BYTES + ((chunk + h ^ row % 8) * 16)) = words;
    }
  }
}

DEVICE void put_pair(const Out &out, int64_t at, float low, float high) {
  typedef float Two __attribute__((vector_size(8)));
  if (out.kind == 0) *(Two *)((float *)out.to + at) = Two{low, high};
  if (out.kind == 1) *(uint32_t *)((bf16 *)out.to + at) = pack<bf16>(low, high);
  if (out.kind == 2) *(uint32_t *)((f16 *)out.to + at) = pack<f16>(low, high);
}

// Rows are this lane's two: how much they see, peaks and totals of the segments so far.
struct Rows {
  int end[2];
  float peak[2], total[2];
};

// merge_segment adds a segment to the sums of earlier ones, which this lane alone reads and writes.
template <int D>
DEVICE void merge_segment(const State<D> &s, Rows &rows, Four *sums, int segment) {
  float mine[2], theirs[2];
  UNROLL
  for (int r = 0; r < 2; r++) {
    mine[r] = 1, theirs[r] = 0;
    if (segment == 0) {
      rows.peak[r] = s.peak[r];
      rows.total[r] = s.total[r];
    } else if (rows.end[r] > segment * POSITIONS) {
      merge(rows.peak[r], rows.total[r], s.peak[r], s.total[r], mine[r], theirs[r]);
    }
  }
  UNROLL
  for (int i = 0; i < WIDTH<D> / 8; i++) {
    Four *earlier = sums + i * 32, x;
    UNROLL
    for (int c = 0; c < 4; c++) x[c] = s.sums[i][c];
    if (segment > 0) {
      Four old = *earlier;
      UNROLL
      for (int c = 0; c < 4; c++) x[c] = rows.end[c / 2] > segment * POSITIONS ? join(old[c], mine[c / 2], x[c], theirs[c / 2]) : old[c];
    }
    *earlier = x;
  }
}

// attend computes tokens [first, last), which follow each other.
template <int D, class T>
DEVICE void attend(const Args<T> &args, unsigned char *memory, Shared<T> &shared, int first, int last) {
  using H = Half<T>;
  constexpr bool SCALED = sizeof(T) == 1;
  const Step *step = args.step;
  int thread = own(), warp = thread / 32, lane = thread % 32, group = args.heads / args.kv_heads, kv_head = blockIdx.y;
  int row = warp / TEAM<D> * ROWS, tokens = last - first, head_dim = args.head_dim;
  auto lanes = [=] { // this lane's queries
    int thread = own();
    return (Words *)(memory + SUMS_AT<D, T> + THREADS / 32 * SUMS_BYTES<D> + thread / 32 * QUERY_BYTES<D>) + thread % 32;
  };
  auto sums = [=] { // the first four of this lane
    int thread = own();
    return (Four *)(memory + SUMS_AT<D, T> + thread / 32 * SUMS_BYTES<D>) + thread % 32;
  };

  Rows rows = {};
  const float *queries[2] = {};
  int position = step->token_position[first], most = position + tokens;
  UNROLL
  for (int r = 0; r < 2; r++) {
    int i = row + lane / 4 + r * 8, token = i / group;
    if (token >= tokens) continue;
    rows.end[r] = position + token + 1;
    queries[r] = args.q + (int64_t(first + token) * args.heads + kv_head * group + i % group) * head_dim;
  }
  Query<D> q;
  load_query<D, H>(q, queries, head_dim);
  if (!HELD<D>) put_query(lanes(), q);

  // some reports whether the end of some row of the warp is in [from, to).
  auto some = [&](int from, int to) {
    return __any_sync(ALL_LANES, rows.end[0] >= from && rows.end[0] < to || rows.end[1] >= from && rows.end[1] < to) != 0;
  };

  // Tables are filled by a thread for each position, which loads the number of the page a block ahead of writing.
  const int32_t *pages = pages_of(step, first);
  int shift = step->page_shift, page = 0;
  auto load_page = [&](int block, const int32_t *const &pages) {
    int mine = own(), p = block * BLOCK + mine;
    if (mine < BLOCK && p < most) page = pages[p >> shift];
  };
  auto note_vector = [&](int block) {
    int mine = own(), p = block * BLOCK + mine;
    if (mine >= BLOCK || p >= most) return;
    shared.vector[block % 4][mine] = (((int64_t(page) * args.kv_heads + kv_head) << shift) + (p & ((1 << shift) - 1))) * (SCALED ? 1 : head_dim);
  };
  auto copy_scales = [&](int block) {
    if constexpr (SCALED) {
      int mine = own();
      if (mine >= BLOCK || block * BLOCK + mine >= most) return;
      int64_t at = shared.vector[block % 4][mine];
      cp_async4(&shared.key_scale[block % 2][mine], args.kscale + at, true);
      cp_async4(&shared.value_scale[block % 2][mine], args.vscale + at, true);
    }
  };
  auto tables = [&](int block) {
    copy_scales(block + 1);
    note_vector(block + 3);
    if constexpr (SCALED) {
      load_page(block + 4, pages);
    } else {
      load_page(block + 4, shared.pages);
    }
  };

  unsigned char *codes = memory + STAGES<D> * STAGE_BYTES<D>;
  auto fill = [&](int block, bool k, bool v) {
    unsigned char *stage = memory + block % STAGES<D> * STAGE_BYTES<D>;
    if constexpr (SCALED) {
      int n = most - (block + 1) * BLOCK;
      const int64_t *next = shared.vector[(block + 1) % 4];
      if (k && block >= 0) widen_codes<D>(stage, codes);
      if (k && n > 0) copy_codes<D>(codes, args.kpool, next, n, head_dim);
      if (v && block >= 0) widen_codes<D>(stage + KV_BYTES<D>, codes + CODES_BYTES<D>);
      if (v && n > 0) copy_codes<D>(codes + CODES_BYTES<D>, args.vpool, next, n, head_dim);
    } else {
      int n = most - block * BLOCK;
      if (n > 0) copy<D>(k, v, stage, args.kpool, args.vpool, shared.vector[block % 4], n, head_dim);
    }
  };

  int early[3];
  UNROLL
  for (int block = 0; block < 3; block++) {
    load_page(block, pages);
    early[block] = page;
  }
  load_page(3, pages);
  int fourth = page;
  UNROLL
  for (int block = 0; block < 3; block++) {
    page = early[block];
    note_vector(block);
  }
  page = fourth;
  if constexpr (!SCALED)
    if (own() == 0) shared.pages = pages;
  __syncthreads(); // the tables are there, and all warps are done with earlier tokens
  copy_scales(0);
  if (SCALED) {
    fill(-1, true, true);
    cp_async_commit();
    cp_async_wait<0>();
  }
  fill(0, true, STAGES<D> > 1);
  cp_async_commit();

  State<D> s;
  begin(s);
  for (int block = 0; block * BLOCK < most; block++) {
    cp_async_wait<0>();
    __syncthreads(); // the block is there (its K only if there is one stage), and the one before it is done with
    int base = block * BLOCK;
    unsigned char *keys = memory + block % STAGES<D> * STAGE_BYTES<D>;
    unsigned char *values = keys + KV_BYTES<D> + warp % TEAM<D> * (WIDTH<D> / TILE_K) * TILE_BYTES;
    const float *ks = nullptr, *vs = nullptr;
    if constexpr (SCALED) ks = shared.key_scale[block % 2], vs = shared.value_scale[block % 2];
    bool seen = some(base + 1, most + 1), ragged = some(1, base + BLOCK);
    Values<D> v;
    float score[BLOCK / 8][4], shrink[2], sum[2] = {0, 0};
    auto guard = [&] { return some(1, lesser(base + BLOCK, most)) && !finite<D, T>(values); };
    if constexpr (STAGES<D> > 1) {
      fill(block + 1, true, true);
      tables(block);
      cp_async_commit();
      if (seen && !ragged) {
        multiply<D, H>(score, q, lanes(), keys);
        raise<false, SCALED>(s, score, shrink, ks, base, rows.end, args.scale);
        shrink_sums(s, shrink);
        load_first(v, values);
        UNROLL
        for (int j = 0; j < BLOCK / 16; j++) {
          uint32_t pair[4];
          weigh<false, T>(pair, sum, s, score, j, vs, base, rows.end);
          add<D, H>(s, v, pair, values, j);
        }
        join_totals(s, sum, shrink);
      } else if (seen) {
        multiply<D, H>(score, q, lanes(), keys);
        raise<true, SCALED>(s, score, shrink, ks, base, rows.end, args.scale);
        shrink_sums(s, shrink);
        bool guarded = guard();
        load_first(v, values);
        UNROLL
        for (int j = 0; j < BLOCK / 16; j++) {
          uint32_t pair[4];
          weigh<true, T>(pair, sum, s, score, j, vs, base, rows.end);
          if (guarded) {
            add_seen<D, H>(s, pair, values, j, base, rows.end);
          } else {
            add<D, H>(s, v, pair, values, j);
          }
        }
        join_totals(s, sum, shrink);
      }
    } else {
      fill(block, false, true);
      tables(block);
      cp_async_commit();
      uint32_t pair[BLOCK / 16][4];
      if (seen) {
        multiply<D, H>(score, q, lanes(), keys);
        if (ragged) {
          raise<true, SCALED>(s, score, shrink, ks, base, rows.end, args.scale);
          UNROLL
          for (int j = 0; j < BLOCK / 16; j++) weigh<true, T>(pair[j], sum, s, score, j, vs, base, rows.end);
        } else {
          raise<false, SCALED>(s, score, shrink, ks, base, rows.end, args.scale);
          UNROLL
          for (int j = 0; j < BLOCK / 16; j++) weigh<false, T>(pair[j], sum, s, score, j, vs, base, rows.end);
        }
        shrink_sums(s, shrink);
        join_totals(s, sum, shrink);
      }
      cp_async_wait<0>();
      __syncthreads(); // V is there, and K is done with
      fill(block + 1, true, false);
      cp_async_commit();
      if (seen && ragged && guard()) {
        UNROLL
        for (int j = 0; j < BLOCK / 16; j++) add_seen<D, H>(s, pair[j], values, j, base, rows.end);
      } else if (seen) {
        load_first(v, values);
        UNROLL
        for (int j = 0; j < BLOCK / 16; j++) add<D, H>(s, v, pair[j], values, j);
      }
    }
    if ((block + 1) % (POSITIONS / BLOCK) != 0 && base + BLOCK < most) continue;
    merge_segment(s, rows, sums(), base / POSITIONS);
    begin(s);
  }

  thread = own();
  int element = thread / 32 % TEAM<D> * WIDTH<D> + thread % 4 * 2;
  UNROLL
  for (int r = 0; r < 2; r++) {
    if (rows.end[r] == 0) continue;
    int i = thread / 32 / TEAM<D> * ROWS + thread % 32 / 4 + r * 8;
    int64_t at = (int64_t(first + i / group) * args.heads + kv_head * group + i % group) * head_dim;
    UNROLL_BY(1)
    for (int i = 0; i < WIDTH<D> / 8 && element + i * 8 < head_dim; i++) {
      const float *x = (const float *)(sums() + i * 32) + r * 2;
      put_pair(args.out, at + element + i * 8, fdiv(x[0], rows.total[r]), fdiv(x[1], rows.total[r]));
    }
  }
}

template <int D, class T>
DEVICE void run(const Args<T> &args) {
  DYNAMIC_SHARED(memory);
  SHARED(Shared<T>, shared, );
  const Step *step = args.step;
  for (int i = blockIdx.x;; i += gridDim.x) {
    int width = TILE_ROWS<D> / (here(args.heads) / args.kv_heads), tiles = (step->tokens + width - 1) / width; // tokens of a tile
    if (i >= tiles) return;
    int first = (tiles - 1 - i) * width, end = lesser(first + width, step->tokens);
    while (first < end) {
      int last = first + 1;
      while (last < end && follows(step, last, last - 1)) last++;
      if (last - first > 1 || !alone(step, first)) attend<D>(args, memory, shared, first, last);
      first = last;
    }
  }
}

} // namespace prompt

#define ATTENTION_PROMPT(dim, type)                                                                                                   \
  KERNEL_BLOCKS(prompt::THREADS, (prompt::BLOCKS<dim, type>), attention_prompt_##type##_##dim)                                                             \
  (const Step *step, const float *q, void *out, int kind, const type *kpool, const type *vpool, const float *kscale,                  \
   const float *vscale, int heads, int kv_heads, int head_dim, float scale) {                                                         \
    wait_for_previous();                                                                                                              \
    prompt::run<dim>(prompt::Args<type>{step, q, {out, kind}, kpool, vpool, kscale, vscale, heads, kv_heads, head_dim, scale});       \
  }                                                                                                                                   \
  REGISTER(attention_prompt_##type##_##dim);
#define ATTENTION_PROMPT_TYPES(dim) \
  ATTENTION_PROMPT(dim, f16)        \
  ATTENTION_PROMPT(dim, bf16)       \
  ATTENTION_PROMPT(dim, i8)
ATTENTION_PROMPT_TYPES(64)
ATTENTION_PROMPT_TYPES(128)
ATTENTION_PROMPT_TYPES(256)
