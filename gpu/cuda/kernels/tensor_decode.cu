// attention_decode: attention of tokens that are the only new one of their sequence, on tensor cores. The tokens of
// prompts are left to attention_prompt: both kernels are started for every step that may have both.
//
// Shapes: q [tokens][heads x head_dim] in float32; out the same, of the type that kind says (0 float32, 1 bfloat16,
//   2 float16); pools and scales as kv.cuh says. head_dim is a multiple of 8 and at most the kernel's. With splits: work
//   has work_floats floats for results of segments: [grid x][kv_heads][segments][group][head_dim] sums, then their peaks
//   and totals; arrived [tokens][grid y] zeros, which are zeros again at the end.
// Order of sums: tensor_attention.cuh.
// Launch: grid (rows, kv_heads x ceil(heads / kv_heads / 16), splits), block 128, dynamic shared memory for 64, 128 and
//   256: 49,152, 98,304 and 131,072 bytes, for int8 24,576, 49,152 and 98,304. splits > 1 spreads the segments over
//   blocks. A token with more segments than work has room for is computed by one block.
//
// The rows of products are up to 16 query heads that share a KV head. The 4 warps of a thread block share each block of
// 64 positions: a warp has the scores and weights of 16 positions, and a quarter of the elements of V. Scores of a block
// are computed together with the sums of the block before, so there are two barriers a block. K and V of the next blocks
// are on their way meanwhile; the page table is read earlier still.
//
// | version | what | time of 1, 64, 256 rows at 2,048 on an H200: 32 heads, 8 KV heads, 128 elements |
// |---|---|---|
// | 1 | a warp a segment, K and V of one block on their way | bfloat16 69, 280, 1121 us; int8 163, 1108, 4425 us |
// | 2 | four warps a segment, K and V two blocks ahead; codes are widened in registers | bfloat16 14.7, 145, 500 us; int8 20.4, 131, 435 us |
#include "tensor_decode_merge.cuh"
#include "tensor_decode_products.cuh"

namespace decode {

using namespace flash_decode;

constexpr int STEPS = BLOCK / 16;         // of the products with V
constexpr int BLOCKS = POSITIONS / BLOCK; // of a segment
constexpr int WEIGHTS = BLOCK + 8;        // floats of a row of weights: rows lie in different banks
constexpr int AHEAD = 4;                  // blocks that are looked up before they are computed

// Dynamic shared memory: STAGES buffers of K, then of V.
template <int D, class T>
constexpr int BUFFER = BLOCK * ROW<D, T>;
template <int D, class T>
constexpr int STAGES = ROW<D, T> < 512 ? 3 : 2;

template <class T>
struct Args {
  const Step *step;
  const float *q;
  Out out;
  const T *kpool, *vpool;
  const float *kscale, *vscale;
  int heads, kv_heads, head_dim;
  float scale;
  float *work;
  int work_floats;
  int32_t *arrived;
};

// Shared is what warps tell each other about a block of positions.
template <class T>
struct Shared {
  static constexpr int SCALED = sizeof(T) == 1 ? BLOCK : 1;
  int64_t bytes[AHEAD][BLOCK];    // where vectors begin in a pool
  int64_t vector[AHEAD][SCALED];  // their indices
  float scales[AHEAD][2][SCALED]; // of K and of V
  Words pairs[WARPS][32];     // weights as first operands
  Four highest[ROWS];         // by warp
  float weights[ROWS * WEIGHTS];
  float total[ROWS];
};

template <int D, class T>
DEVICE void run(const Args<T> &args) {
  using H = Half<T>;
  constexpr bool SCALED = sizeof(T) == 1;
  constexpr int N = STAGES<D, T>;
  DYNAMIC_SHARED(memory);
  SHARED(Shared<T>, shared, );
  const Step *step = args.step;
  int token = blockIdx.x, thread = threadIdx.x, warp = thread / 32, lane = thread % 32, g = lane / 4, t = lane % 4;

  // What this needs of the step is read in as few turns as possible, and divided by meanwhile.
  const volatile Step *now = step; // so that loads stay in front of branches
  int tokens = now->tokens, page_shift = now->page_shift, page_stride = now->page_stride;
  const int32_t *positions = now->token_position, *row_of = now->token_row, *table = now->page_table;
  int heads = args.heads, kv_heads = args.kv_heads, head_dim = args.head_dim, group = here(heads / kv_heads), chunks = (group + ROWS - 1) / ROWS;
  int kv_head = chunks == 1 ? int(blockIdx.y) : here(int(blockIdx.y) / chunks), from_row = (int(blockIdx.y) - kv_head * chunks) * ROWS;
  if (token >= tokens) return;
  int before = token > 0 ? token - 1 : token, after = token + 1 < tokens ? token + 1 : token;
  int position = positions[token], row = row_of[token];
  bool follows = (row_of[before] == row) & (positions[before] == position - 1), goes_on = (row_of[after] == row) & (positions[after] == position + 1);
  if (follows | goes_on) return; // it is part of a prompt; a token that is not there counts as this one, which does neither

  // This block has segments z, z + blocks, ...
  int rows = lesser(group - from_row, ROWS), end = position + 1, segments = (end + POSITIONS - 1) / POSITIONS, z = blockIdx.z;
  int64_t all = int64_t(gridDim.x) * heads, mine = int64_t(token) * heads + kv_head * group + from_row; // queries
  int64_t part = all * head_dim + (all * 2 + 3) / 4 * 4;
  int blocks = gridDim.z > 1 && segments * part <= args.work_floats ? lesser(int(gridDim.z), segments) : 1;
  if (z >= blocks) return;
  Parts parts{args.work + mine * head_dim, (Two *)(args.work + all * head_dim) + mine, part, head_dim};

  // A block of positions is looked up by 64 threads: its page, one block later where its vectors lie. What is beyond the
  // end lies in page 0, which is padding.
  const int32_t *pages = table + int64_t(row) * page_stride;
  auto base_of = [&](int n) { return (z + n / BLOCKS * blocks) * POSITIONS + n % BLOCKS * BLOCK; };
  auto page_of = [&](int n) {
    int position = base_of(n) + thread % BLOCK;
    return position < end ? pages[position >> page_shift] : 0;
  };
  auto look_up = [&](int n, int page) {
    int slot = (base_of(n) + thread % BLOCK) & ((1 << page_shift) - 1);
    int64_t vector = ((int64_t(page) * kv_heads + kv_head) << page_shift) + slot;
    shared.bytes[n % AHEAD][thread % BLOCK] = vector * (head_dim * int(sizeof(T)));
    if constexpr (SCALED) shared.vector[n % AHEAD][thread % BLOCK] = vector;
  };
  auto keys_of = [&](int n) { return memory + n % N * BUFFER<D, T>; };
  auto values_of = [&](int n) { return memory + (N + n % N) * BUFFER<D, T>; };
  auto copy_keys = [&](int n) {
    if (base_of(n) >= end) return;
    copy<D, T>(keys_of(n), args.kpool, shared.bytes[n % AHEAD], head_dim);
    if constexpr (SCALED) {
      int i = thread % BLOCK, of = thread / BLOCK;
      cp_async4(&shared.scales[n % AHEAD][of][i], (of ? args.vscale : args.kscale) + shared.vector[n % AHEAD][i], true);
    }
  };
  auto copy_values = [&](int n) {
    if (base_of(n) < end) copy<D, T>(values_of(n), args.vpool, shared.bytes[n % AHEAD], head_dim);
  };

  int first = thread / BLOCK, page = page_of(first), later = page_of(first + 2);
  look_up(first, page);
  look_up(first + 2, later);
  page = page_of(AHEAD);
  __syncthreads(); // the first blocks are looked up
  copy_keys(0);
  cp_async_commit();
  UNROLL
  for (int n = 1; n < N; n++) {
    copy_keys(n);
    copy_values(n - 1);
    cp_async_commit();
  }

  // Queries go to registers through the buffer of V that is still free.
  uint32_t q[D / 16][4];
  unsigned char *tiles = values_of(N - 1);
  const float *from = args.q + mine * head_dim;
  UNROLL
  for (int i = 0; i < ROWS * D / 2; i += THREADS) {
    int row = (i + thread) / (D / 2), pair = (i + thread) % (D / 2);
    Two x = {0, 0};
    if (row < rows && pair * 2 < head_dim) x = *(const Two *)(from + row * head_dim + pair * 2);
    *(uint32_t *)(chunk_of(tiles + pair / (TILE_K / 2) * ROWS * ROW_BYTES, row, pair / 4 % ROW_CHUNKS) + pair % 4 * 4) = pack_factors<H>(x[0], x[1]);
  }
  cp_async_wait<N - 1>();
  __syncthreads(); // queries and the first K are there
  UNROLL
  for (int i = 0; i < D / 16; i++) load_a(q[i], tiles + i / 4 * ROWS * ROW_BYTES, 0, i % 4);

  float score[2][4] = {};
  Two value_scale[2];
  // tell_peaks makes scores of q.k of a block, and tells the other warps the largest ones.
  auto tell_peaks = [&](int n) {
    int end_of_row = end - base_of(n) - warp * 16 - t * 2; // from this lane's first position on
    Two key_scale[2];
    if constexpr (SCALED) {
      UNROLL
      for (int j = 0; j < 2; j++) {
        key_scale[j] = *(const Two *)&shared.scales[n % AHEAD][0][warp * 16 + j * 8 + t * 2];
        value_scale[j] = *(const Two *)&shared.scales[n % AHEAD][1][warp * 16 + j * 8 + t * 2];
      }
    }
    UNROLL
    for (int r = 0; r < 2; r++) {
      if (r * 8 >= rows) break;
      float highest = -INFINITE;
      UNROLL
      for (int j = 0; j < 2; j++)
        UNROLL
        for (int c = 0; c < 2; c++) {
          float x = score[j][2 * r + c];
          if constexpr (SCALED) x = fmul(x, key_scale[j][c]);
          x = fmul(x, args.scale);
          x = j * 8 + c < end_of_row ? x : -INFINITE;
          score[j][2 * r + c] = x;
          highest = flarger(highest, x);
        }
      highest = flarger(highest, __shfl_xor_sync(ALL_LANES, highest, 2));
      highest = flarger(highest, __shfl_xor_sync(ALL_LANES, highest, 1));
      if (t == 0) ((float *)&shared.highest[g + 8 * r])[warp] = highest;
    }
  };
  UNROLL
  for (int i = 0; i < D / 16; i++) add_key_step<D, T>(score, q[i], keys_of(0), i);
  tell_peaks(0);

  float peak[2] = {-INFINITE, -INFINITE}, sums[D / 32][4] = {}, merged_peak[2] = {0, 0}, merged[D / 32][4] = {};
  float total = 0, merged_total = 0; // of row g, or g + 8 in warp 1
  for (int n = 0, base; (base = base_of(n)) < end; n++) {
    __syncthreads(); // the peaks are there; this K and the last V may be overwritten
    copy_keys(n + N);
    copy_values(n + N - 1);
    cp_async_commit();

    float shrink[2] = {0, 0};
    Words pairs = {0, 0, 0, 0};
    UNROLL
    for (int r = 0; r < 2; r++) {
      if (r * 8 >= rows) break;
      Four h = shared.highest[g + 8 * r];
      float now = flarger(peak[r], flarger(flarger(h[0], h[1]), flarger(h[2], h[3])));
      shrink[r] = exp_not_positive(fsub(peak[r], now));
      peak[r] = now;
      UNROLL
      for (int j = 0; j < 2; j++) {
        Two w;
        UNROLL
        for (int c = 0; c < 2; c++) w[c] = exp_not_positive(fsub(score[j][2 * r + c], now));
        *(Two *)&shared.weights[(g + 8 * r) * WEIGHTS + warp * 16 + j * 8 + t * 2] = w;
        // A slot that is not seen may have any scale.
        UNROLL
        for (int c = 0; c < 2; c++)
          if (SCALED) w[c] = base + warp * 16 + j * 8 + t * 2 + c < end ? fmul(w[c], value_scale[j][c]) : 0;
        pairs[2 * j + r] = pack_factors<H>(w[0], w[1]);
      }
    }
    shared.pairs[warp][lane] = pairs;
    cp_async_wait<N - 1>();
    unsigned char *values = values_of(n), *keys = keys_of(n + 1);
    if (end - base < BLOCK) clear<D, T>(values, end - base);
    __syncthreads(); // weights, V and the next K are there

    if (thread >= THREADS - BLOCK) {
      look_up(n + AHEAD, page);
      page = page_of(n + AHEAD + 1);
    }
    UNROLL
    for (int i = 0; i < D / 32; i++)
      UNROLL
      for (int c = 0; c < 4; c++) sums[i][c] = fmul(sums[i][c], shrink[c / 2]);
    UNROLL
    for (int j = 0; j < 2; j++)
      UNROLL
      for (int c = 0; c < 4; c++) score[j][c] = 0;
    UNROLL
    for (int j = 0; j < STEPS; j++) {
      add_value_step<D, T>(sums, shared.pairs[0], values, j);
      UNROLL
      for (int i = 0; i < D / 16 / STEPS; i++) add_key_step<D, T>(score, q[j * (D / 16 / STEPS) + i], keys, j * (D / 16 / STEPS) + i);
    }
    if (warp * 8 < rows) {
      float sum = 0;
      UNROLL
      for (int j = 0; j < BLOCK / 8; j++) {
        Two w = *(const Two *)&shared.weights[(warp * 8 + g) * WEIGHTS + j * 8 + t * 2];
        sum = fadd(fadd(sum, w[0]), w[1]);
      }
      sum = fadd(sum, __shfl_xor_sync(ALL_LANES, sum, 2));
      sum = fadd(sum, __shfl_xor_sync(ALL_LANES, sum, 1));
      total = ffma(total, warp == 0 ? shrink[0] : shrink[1], sum);
    }
    tell_peaks(n + 1);
    if (n % BLOCKS != BLOCKS - 1 && base + BLOCK < end) continue;

    // The end of a segment.
    if (blocks > 1) {
      int segment = z + n / BLOCKS * blocks;
      UNROLL
      for (int r = 0; r < 2; r++) {
        if (g + 8 * r >= rows) break;
        float *to = sums_of(parts, segment, g + 8 * r);
        each_pair<D, T>(sums, r, [&](int i, float x, float y) {
          if (i < head_dim) *(Two *)(to + i) = Two{x, y};
        });
      }
      if (warp < 2 && t == 0 && warp * 8 + g < rows) *end_of(parts, segment, warp * 8 + g) = Two{warp == 0 ? peak[0] : peak[1], total};
    } else {
      float ours[2] = {0, 0}, theirs[2] = {1, 1};
      UNROLL
      for (int r = 0; r < 2; r++) {
        float both = merged_total;
        if (n < BLOCKS) {
          merged_peak[r] = peak[r];
          both = total;
        } else {
          merge(merged_peak[r], both, peak[r], total, ours[r], theirs[r]);
        }
        if (r == warp) merged_total = both;
      }
      UNROLL
      for (int i = 0; i < D / 32; i++)
        UNROLL
        for (int c = 0; c < 4; c++) merged[i][c] = n < BLOCKS ? sums[i][c] : join(merged[i][c], ours[c / 2], sums[i][c], theirs[c / 2]);
    }
    peak[0] = peak[1] = -INFINITE;
    total = 0;
    UNROLL
    for (int i = 0; i < D / 32; i++)
      UNROLL
      for (int c = 0; c < 4; c++) sums[i][c] = 0;
  }

  if (blocks > 1) {
    if (arrive(args.arrived + int64_t(token) * gridDim.y + blockIdx.y, blocks))
      merge_parts<D>(parts, (Four *)memory, segments, rows, args.out, mine * head_dim);
    return;
  }
  if (warp < 2 && t == 0) shared.total[warp * 8 + g] = merged_total;
  __syncthreads(); // totals are there
  UNROLL
  for (int r = 0; r < 2; r++) {
    if (g + 8 * r >= rows) break;
    float divisor = shared.total[g + 8 * r];
    each_pair<D, T>(merged, r, [&](int i, float x, float y) {
      if (i < head_dim) put_pair(args.out, (mine + g + 8 * r) * head_dim + i, fdiv(x, divisor), fdiv(y, divisor));
    });
  }
}

} // namespace decode

#define ATTENTION_DECODE(dim, type, blocks)                                                                                          \
  KERNEL_BLOCKS(128, blocks, attention_decode_##type##_##dim)                                                                        \
  (const Step *step, const float *q, void *out, int kind, const type *kpool, const type *vpool, const float *kscale,                 \
   const float *vscale, int heads, int kv_heads, int head_dim, float scale, float *work, int work_floats, int32_t *arrived) {        \
    wait_for_previous();                                                                                                             \
    decode::run<dim>(decode::Args<type>{step, q, {out, kind}, kpool, vpool, kscale, vscale, heads, kv_heads, head_dim, scale, work,  \
                                        work_floats, arrived});                                                                      \
  }                                                                                                                                  \
  REGISTER(attention_decode_##type##_##dim);
#define ATTENTION_DECODE_HALVES(dim, blocks) \
  ATTENTION_DECODE(dim, f16, blocks)         \
  ATTENTION_DECODE(dim, bf16, blocks)
ATTENTION_DECODE_HALVES(64, 4)
ATTENTION_DECODE_HALVES(128, 2)
ATTENTION_DECODE_HALVES(256, 1)
ATTENTION_DECODE(64, i8, 4)
ATTENTION_DECODE(128, i8, 4)
ATTENTION_DECODE(256, i8, 2)
