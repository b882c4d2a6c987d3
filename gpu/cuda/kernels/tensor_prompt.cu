// attention_prompt: attention of tokens that are several of their sequence, on tensor cores. Tokens that are alone are
// left to attention_decode: both kernels are started for every step that may have both.
//
// Shapes: as attention_decode. heads / kv_heads is at most 64.
// Order of sums: tensor_attention.cuh, the same as of attention_decode.
// Launch: grid (any number; ceil(rows / floor(64 kv_heads / heads)) tiles are useful, kv_heads), block 128 (256 for
//   head_dim 256), dynamic shared memory 57,344, 114,688 and 163,840 bytes for 64, 128 and 256.
//
// A block has 64 rows, which are the query heads of one KV head for consecutive tokens of one sequence. Its warps share
// the tiles of K and V, of which the next one fills while one is computed with. Sums of earlier segments wait in shared
// memory. Tiles with the longest contexts start first.
//
// | version | what | time |
// |---|---|---|
// | 1 | 4 teams of 16 rows, 2 stages (1 for head_dim 256) | not measured |
#include "tensor_attention.cuh"

namespace prompt {

using namespace flash;

constexpr int TEAMS = 4, TILE_ROWS = TEAMS * ROWS;
template <int D>
constexpr int THREADS = TEAMS * TEAM<D> * 32;
template <int D>
constexpr int STAGES = D == 256 ? 1 : 2;

// Dynamic shared memory: queries, stages of K and V, sums of earlier segments.
template <int D>
constexpr int QUERY_BYTES = TILE_ROWS * D * 2;
template <int D>
constexpr int STAGE_BYTES = 2 * KV_BYTES<D>;

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

// Shared is what threads know about blocks: of the one that is computed with, the one that is copied, the one after it.
struct Shared {
  int64_t vector[3][BLOCK];
  float key_scale[3][BLOCK], value_scale[3][BLOCK];
};

// finite reports whether this warp's part of a tile of values is.
template <int D, class T>
DEVICE bool finite(const unsigned char *values) {
  if constexpr (sizeof(T) == 1) return true; // the scales are not multiplied where a row does not see
  constexpr uint32_t EXPONENT = __is_same(Half<T>, bf16) ? 0x7f80 : 0x7c00, UNIT = EXPONENT & -EXPONENT;
  uint32_t all = 0; // the sign bits of halves whose exponent is all ones
  for (int i = threadIdx.x % 32; i < WIDTH<D> / TILE_K * TILE_BYTES / 4; i += 32) {
    uint32_t pair = ((const uint32_t *)values)[i];
    all |= (pair & EXPONENT * 0x10001) + UNIT * 0x10001;
  }
  return !__any_sync(ALL_LANES, (all & 0x80008000) != 0);
}

DEVICE void put_pair(const Out &out, int64_t at, float low, float high) {
  typedef float Two __attribute__((vector_size(8)));
  if (out.kind == 0) *(Two *)((float *)out.to + at) = Two{low, high};
  if (out.kind == 1) *(uint32_t *)((bf16 *)out.to + at) = pack<bf16>(low, high);
  if (out.kind == 2) *(uint32_t *)((f16 *)out.to + at) = pack<f16>(low, high);
}

// Rows are this lane's two: how much they see, and where their results go.
struct Rows {
  int end[2];
  int64_t at[2];
  float peak[2], total[2]; // of the segments so far
};

// merge_segment adds a segment to the sums of earlier ones, or writes the results out after the last one.
template <int D>
DEVICE void merge_segment(State<D> &s, Rows &rows, Four *sums, const Out &out, int segment, bool last, int head_dim) {
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
  int thread = here(threadIdx.x), lane = thread % 32, first = thread / 32 % TEAM<D> * WIDTH<D>;
  UNROLL
  for (int i = 0; i < WIDTH<D> / 8; i++) {
    Four *earlier = sums + (thread / 32 * (WIDTH<D> / 8) + i) * 32 + lane;
    Four x;
    UNROLL
    for (int c = 0; c < 4; c++) x[c] = s.sums[i][c];
    if (segment > 0) {
      Four old = *earlier;
      UNROLL
      for (int c = 0; c < 4; c++) x[c] = rows.end[c / 2] > segment * POSITIONS ? join(old[c], mine[c / 2], x[c], theirs[c / 2]) : old[c];
    }
    if (!last) {
      *earlier = x;
      continue;
    }
    int element = first + i * 8 + lane % 4 * 2;
    UNROLL
    for (int r = 0; r < 2; r++)
      if (rows.end[r] > 0 && element < head_dim) put_pair(out, rows.at[r] + element, fdiv(x[2 * r], rows.total[r]), fdiv(x[2 * r + 1], rows.total[r]));
  }
}

// attend computes tokens [first, last), which follow each other.
template <int D, class T>
DEVICE void attend(const Args<T> &args, unsigned char *memory, Shared &shared, int first, int last) {
  const Step *step = args.step;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = args.heads / args.kv_heads, kv_head = blockIdx.y;
  int row = warp / TEAM<D> * ROWS, tokens = last - first;
  unsigned char *stages = memory + QUERY_BYTES<D>;
  Four *sums = (Four *)(stages + STAGES<D> * STAGE_BYTES<D>);

  for (int i = warp; i < TILE_ROWS; i += THREADS<D> / 32) {
    const float *q = args.q + (int64_t(first + i / group) * args.heads + kv_head * group + i % group) * args.head_dim;
    put_query<D, 32, T>(memory, TILE_ROWS, i, i / group < tokens ? q : nullptr, args.head_dim, lane);
  }
  Rows rows = {};
  int position = step->token_position[first], most = position + tokens, least = most, highest = 0; // ends of the tile, of the warp
  UNROLL
  for (int r = 0; r < 2; r++) {
    int i = row + lane / 4 + r * 8, token = i / group;
    if (token >= tokens) continue;
    rows.end[r] = position + token + 1;
    rows.at[r] = (int64_t(first + token) * args.heads + kv_head * group + i % group) * args.head_dim;
    least = lesser(least, rows.end[r]);
    highest = rows.end[r];
  }
  UNROLL
  for (int lanes = 16; lanes >= 4; lanes /= 2) {
    least = lesser(least, __shfl_xor_sync(ALL_LANES, least, lanes));
    int other = __shfl_xor_sync(ALL_LANES, highest, lanes);
    highest = other > highest ? other : highest;
  }

  const int32_t *pages = pages_of(step, first);
  auto find = [&](int block) {
    int i = here(threadIdx.x), p = block * BLOCK + i;
    if (i >= BLOCK || p >= most) return;
    int64_t at = vector_of(step, pages, p, args.kv_heads, kv_head);
    shared.vector[block % 3][i] = at;
    if constexpr (sizeof(T) == 1) {
      shared.key_scale[block % 3][i] = args.kscale[at];
      shared.value_scale[block % 3][i] = args.vscale[at];
    }
  };
  auto copy = [&](int block) {
    int n = lesser(most - block * BLOCK, BLOCK);
    if (n > 0) {
      unsigned char *stage = stages + block % STAGES<D> * STAGE_BYTES<D>;
      copy_vectors<D, THREADS<D>>(stage, args.kpool, shared.vector[block % 3], args.head_dim, n, threadIdx.x);
      copy_vectors<D, THREADS<D>>(stage + KV_BYTES<D>, args.vpool, shared.vector[block % 3], args.head_dim, n, threadIdx.x);
    }
    cp_async_commit();
  };
  find(0);
  find(1);
  __syncthreads();
  copy(0);
  State<D> s;
  begin(s);
  int blocks = (most + BLOCK - 1) / BLOCK;
  for (int block = 0; block < blocks; block++) {
    cp_async_wait<0>();
    __syncthreads(); // the block is there, and the one before it is done with
    if (STAGES<D> > 1) {
      copy(block + 1);
      find(block + 2);
    }
    int base = block * BLOCK;
    if (base < highest) {
      unsigned char *keys = stages + block % STAGES<D> * STAGE_BYTES<D>;
      unsigned char *values = keys + KV_BYTES<D> + warp % TEAM<D> * (WIDTH<D> / TILE_K) * TILE_BYTES;
      Weights w =
          weigh<D, T>(s, memory, TILE_ROWS, row, keys, shared.key_scale[block % 3], shared.value_scale[block % 3], base, rows.end, args.scale);
      bool ragged = least < lesser(base + BLOCK, most);
      add<D, T>(s, w, values, base, rows.end, ragged && !finite<D, T>(values));
    }
    if (STAGES<D> == 1) {
      __syncthreads();
      copy(block + 1);
      find(block + 2);
    }
    if ((block + 1) % (POSITIONS / BLOCK) != 0 && block + 1 < blocks) continue;
    merge_segment(s, rows, sums, args.out, base / POSITIONS, block + 1 == blocks, args.head_dim);
    begin(s);
  }
  __syncthreads(); // shared memory is free
}

template <int D, class T>
DEVICE void run(const Args<T> &args) {
  DYNAMIC_SHARED(memory);
  SHARED(Shared, shared, );
  const Step *step = args.step;
  int width = TILE_ROWS / (args.heads / args.kv_heads), tiles = (step->tokens + width - 1) / width; // tokens of a tile
  for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
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
  KERNEL_BLOCKS(prompt::THREADS<dim>, 1, attention_prompt_##type##_##dim)                                                             \
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
