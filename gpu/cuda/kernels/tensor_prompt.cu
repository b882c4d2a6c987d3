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
// widens those that it copied itself. Queries stay in registers (in shared memory for head_dim 64), sums of earlier
// segments wait in shared memory. Blocks that all rows of a warp see wholly, nearly all of them, are computed without
// masks. Tiles with the longest contexts start first.
//
// Limits of a block of 64 positions on a quarter of an H200's multiprocessor, for head_dim 128 and a warp of 16 rows:
// 128 products of 6 to 8 cycles, about 1,100 instructions, 1,150 cycles of shared memory (64 matrices of 512 bytes for
// each of 4 warps, half of a copy of 32 KiB). Two warps overlap these.
//
// | version | what | time on an H200: 8,192 tokens, 32 heads, 8 KV, head_dim 128, bfloat16; int8 |
// |---|---|---|
// | 1 | 4 teams of 16 rows, 2 stages (1 for head_dim 256), one block a multiprocessor | 9.44 ms (58 TFLOP/s); 16.7 ms |
// | 2 | 8 warps, queries in registers, no masks where all is seen, int8 by asynchronous copies | 2.80 ms (196 TFLOP/s); 3.41 ms |
#include "tensor_prompt_warp.cuh"

namespace prompt {

using namespace flash_prompt;

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
