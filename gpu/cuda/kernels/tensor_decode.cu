// attention_decode: attention of tokens that are the only new one of their sequence, on tensor cores. The tokens of
// prompts are left to attention_prompt: both kernels are started for every step that may have both.
//
// Shapes: q [tokens][heads x head_dim] in float32; out the same, of the type that kind says (0 float32, 1 bfloat16,
//   2 float16); pools and scales as kv.cuh says. head_dim is a multiple of 8 and at most the kernel's. With splits: work
//   [tokens][kv_heads][segments][group][head_dim + 2] with as many segments as a row of the page table has positions for,
//   arrived [tokens][grid y] zeros, which are zeros again at the end.
// Order of sums: tensor_attention.cuh.
// Launch: grid (rows, kv_heads x ceil(heads / kv_heads / 16), splits), block 128, dynamic shared memory
//   77,824, 155,648 and 163,840 bytes for 64, 128 and 256. splits > 1 spreads the segments over blocks, for steps with
//   few tokens and long contexts.
//
// The rows of a warp are the query heads that share a KV head. Each team of 1 warp (2 above 128 elements) takes a
// segment and streams K and V through two buffers of its own: while one is computed with, the other fills. If a context
// has few segments, the teams that are left over take other KV heads, and the blocks of those exit at once.
//
// | version | what | time |
// |---|---|---|
// | 1 | a team a segment, no barrier of the block inside of one | not measured |
#include "tensor_attention.cuh"

namespace decode {

using namespace flash;

constexpr int WARPS = 4;
template <int D>
constexpr int TEAMS = WARPS / TEAM<D>;

// Dynamic shared memory: a team has queries of a KV head, K and V of a block. A segment's sums take the place of its K.
// Then the merged sums.
template <int D>
constexpr int QUERY_BYTES = ROWS * D * 2;
template <int D>
constexpr int TEAM_BYTES = QUERY_BYTES<D> + 2 * KV_BYTES<D>;
template <int D>
constexpr int BYTES = TEAMS<D> * TEAM_BYTES<D> + ROWS * D * 4;

struct Peaks {
  float peak[ROWS], total[ROWS];
};

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
  int32_t *arrived;
};

// Shared is static shared memory: what teams keep about the block in their buffers, and the results of segments.
template <int D>
struct Shared {
  int64_t vector[TEAMS<D>][BLOCK]; // indices in the pools
  float key_scale[TEAMS<D>][BLOCK], value_scale[TEAMS<D>][BLOCK];
  Peaks parts[TEAMS<D>], merged;
};

template <int D>
DEVICE void sync_team(int team) {
  if constexpr (TEAM<D> == 1) {
    __syncwarp();
  } else {
    bar_sync(1 + team, TEAM<D> * 32);
  }
}

// segment computes positions [from, to) for the rows of one KV head.
template <int D, class T>
DEVICE void segment(State<D> &s, const Args<T> &args, unsigned char *memory, Shared<D> &shared, unsigned char *queries, const int32_t *pages,
                    int kv_head, int from, int to) {
  constexpr int THREADS = TEAM<D> * 32;
  int thread = threadIdx.x % THREADS, team = threadIdx.x / THREADS;
  unsigned char *keys = memory + team * TEAM_BYTES<D> + QUERY_BYTES<D>, *values = keys + KV_BYTES<D>;
  int64_t *vector = shared.vector[team];
  auto copy_keys = [&](int base) {
    for (int i = thread; i < BLOCK && base + i < to; i += THREADS) {
      int64_t at = vector_of(args.step, pages, base + i, args.kv_heads, kv_head);
      vector[i] = at;
      if constexpr (sizeof(T) == 1) {
        shared.key_scale[team][i] = args.kscale[at];
        shared.value_scale[team][i] = args.vscale[at];
      }
    }
    sync_team<D>(team);
    if (base < to) copy_vectors<D, THREADS>(keys, args.kpool, vector, args.head_dim, lesser(to - base, BLOCK), thread);
    cp_async_commit();
  };
  auto copy_values = [&](int base) {
    if (base < to) copy_vectors<D, THREADS>(values, args.vpool, vector, args.head_dim, lesser(to - base, BLOCK), thread);
    cp_async_commit();
  };
  begin(s);
  copy_keys(from);
  copy_values(from);
  int end[2] = {to, to};
  for (int base = from; base < to; base += BLOCK) {
    cp_async_wait<1>();
    sync_team<D>(team); // K is there
    Weights w = weigh<D, T>(s, queries, ROWS, 0, keys, shared.key_scale[team], shared.value_scale[team], base, end, args.scale);
    sync_team<D>(team); // and may be overwritten
    copy_keys(base + BLOCK);
    cp_async_wait<1>();
    sync_team<D>(team);
    add<D, T>(s, w, values + threadIdx.x / 32 % TEAM<D> * (WIDTH<D> / TILE_K) * TILE_BYTES, base, end, false);
    sync_team<D>(team);
    copy_values(base + BLOCK);
  }
}

// each calls f(row, element, sum) for a warp's sums.
template <int D, class F>
DEVICE void each(const State<D> &s, F f) {
  int thread = here(threadIdx.x), lane = thread % 32, first = thread / 32 % TEAM<D> * WIDTH<D>;
  UNROLL
  for (int i = 0; i < WIDTH<D> / 8; i++)
    UNROLL
    for (int c = 0; c < 4; c++) f(lane / 4 + c / 2 * 8, first + i * 8 + lane % 4 * 2 + c % 2, s.sums[i][c]);
}

// Row is a query whose segments a warp merges; a lane has D / 32 of its elements.
template <int D>
struct Row {
  float peak, total, sums[D / 32];
};

// join_part merges a segment: sums(element), with its peak and total.
template <int D, class F>
DEVICE void join_part(Row<D> &row, bool first, float peak, float total, int head_dim, F sums) {
  float mine = 0, theirs = 1;
  if (first) {
    row.peak = peak;
    row.total = total;
  } else {
    merge(row.peak, row.total, peak, total, mine, theirs);
  }
  UNROLL
  for (int e = 0; e < D / 32; e++) {
    int i = threadIdx.x % 32 + e * 32;
    if (i < head_dim) row.sums[e] = first ? sums(i) : join(row.sums[e], mine, sums(i), theirs);
  }
}

template <int D>
DEVICE void put_row(const Out &out, const Row<D> &row, int64_t at, int head_dim) {
  UNROLL
  for (int e = 0; e < D / 32; e++) {
    int i = threadIdx.x % 32 + e * 32;
    if (i < head_dim) put(out, at + i, fdiv(row.sums[e], row.total));
  }
}

template <int D, class T>
DEVICE void run(const Args<T> &args) {
  DYNAMIC_SHARED(memory);
  SHARED(Shared<D>, shared, );
  const Step *step = args.step;
  int token = blockIdx.x, warp = here(threadIdx.x) / 32, lane = threadIdx.x % 32, splits = gridDim.z;
  if (token >= step->tokens || !alone(step, token)) return;

  // A team is a slot of a KV head of this block.
  int end = step->token_position[token] + 1, segments = (end + POSITIONS - 1) / POSITIONS, slots = splits > 1 ? TEAMS<D> : 1;
  while (slots < segments && slots < TEAMS<D>) slots *= 2;
  int group = args.heads / args.kv_heads, chunks = (group + ROWS - 1) / ROWS, from_row = int(blockIdx.y) % chunks * ROWS;
  int heads = TEAMS<D> / slots, first_head = int(blockIdx.y) / chunks * heads, team = warp / TEAM<D>, slot = team % slots, kv_head = first_head + team / slots;
  int blocks = lesser(splits, (segments + slots - 1) / slots);
  if (first_head >= args.kv_heads || int(blockIdx.z) >= blocks) return;
  heads = lesser(heads, args.kv_heads - first_head);
  bool split = blocks > 1;
  int head_dim = args.head_dim, rows = lesser(group - from_row, ROWS);
  const int32_t *pages = pages_of(step, token);
  float *merged_sums = (float *)(memory + TEAMS<D> * TEAM_BYTES<D>); // [rows][D]
  // part_of is work of a segment and a row of the group: sums, peak, total.
  auto part_of = [&](int seg, int row) {
    int64_t widest = (int64_t(step->page_stride) << step->page_shift) / POSITIONS + 1;
    return args.work + (((int64_t(here(token)) * args.kv_heads + first_head) * widest + seg) * group + row) * (head_dim + 2);
  };

  for (int i = warp; i < heads * ROWS; i += WARPS) {
    int h = i / ROWS, row = i % ROWS;
    const float *q = args.q + (int64_t(token) * args.heads + (first_head + h) * group + from_row + row) * head_dim;
    put_query<D, 32, T>(memory + h * slots * TEAM_BYTES<D>, ROWS, row, row < rows ? q : nullptr, head_dim, lane);
  }
  __syncthreads();
  for (int first = blockIdx.z * slots; first < segments; first += splits * slots) {
    int seg = first + slot;
    if (seg < segments && kv_head < args.kv_heads) {
      State<D> s;
      segment(s, args, memory, shared, memory + team / slots * slots * TEAM_BYTES<D>, pages, kv_head, seg * POSITIONS,
              lesser((seg + 1) * POSITIONS, end));
      int row = here(threadIdx.x) % 32 / 4; // of peak and total, and that + 8
      bool tells = here(threadIdx.x) % 4 == 0 && warp % TEAM<D> == 0;
      if (split) {
        float *to = part_of(seg, from_row);
        each(s, [&](int row, int i, float x) {
          if (row < rows && i < head_dim) to[row * (head_dim + 2) + i] = x;
        });
        UNROLL
        for (int r = 0; r < 2; r++) {
          if (!tells || row + r * 8 >= rows) continue;
          to[(row + r * 8) * (head_dim + 2) + head_dim] = s.peak[r];
          to[(row + r * 8) * (head_dim + 2) + head_dim + 1] = s.total[r];
        }
      } else {
        float *to = (float *)(memory + team * TEAM_BYTES<D> + QUERY_BYTES<D>); // [rows][D]
        each(s, [&](int row, int i, float x) { to[row * D + i] = x; });
        UNROLL
        for (int r = 0; r < 2; r++) {
          if (!tells) continue;
          shared.parts[team].peak[row + r * 8] = s.peak[r];
          shared.parts[team].total[row + r * 8] = s.total[r];
        }
      }
    }
    if (split) continue;
    __syncthreads();
    for (int i = here(threadIdx.x) / 32; i < heads * rows; i += WARPS) {
      int h = i / rows, r = i % rows;
      Row<D> row = {};
      if (first > 0) join_part(row, true, shared.merged.peak[r], shared.merged.total[r], head_dim, [&](int e) { return merged_sums[r * D + e]; });
      for (int p = 0; p < slots && first + p < segments; p++) {
        int from = h * slots + p;
        const float *sums = (const float *)(memory + from * TEAM_BYTES<D> + QUERY_BYTES<D>) + r * D;
        join_part(row, first + p == 0, shared.parts[from].peak[r], shared.parts[from].total[r], head_dim, [&](int e) { return sums[e]; });
      }
      if (first + slots >= segments) {
        put_row(args.out, row, (int64_t(token) * args.heads + (first_head + h) * group + from_row + r) * head_dim, head_dim);
        continue;
      }
      __syncwarp();
      if (lane == 0) {
        shared.merged.peak[r] = row.peak;
        shared.merged.total[r] = row.total;
      }
      UNROLL
      for (int e = 0; e < D / 32; e++)
        if (lane + e * 32 < head_dim) merged_sums[r * D + lane + e * 32] = row.sums[e];
    }
    __syncthreads();
  }
  if (!split || !arrive(args.arrived + int64_t(token) * gridDim.y + blockIdx.y, blocks)) return;
  for (int r = warp; r < rows; r += WARPS) {
    Row<D> row = {};
    for (int seg = 0; seg < segments; seg++) {
      const float *part = part_of(seg, from_row + r);
      join_part(row, seg == 0, part[head_dim], part[head_dim + 1], head_dim, [&](int e) { return part[e]; });
    }
    put_row(args.out, row, (int64_t(token) * args.heads + first_head * group + from_row + r) * head_dim, head_dim);
  }
}

} // namespace decode

#define ATTENTION_DECODE(dim, type)                                                                                                  \
  KERNEL_BLOCKS(128, 1, attention_decode_##type##_##dim)                                                           \
  (const Step *step, const float *q, void *out, int kind, const type *kpool, const type *vpool, const float *kscale,                 \
   const float *vscale, int heads, int kv_heads, int head_dim, float scale, float *work, int32_t *arrived) {                         \
    wait_for_previous();                                                                                                             \
    decode::run<dim>(decode::Args<type>{step, q, {out, kind}, kpool, vpool, kscale, vscale, heads, kv_heads, head_dim, scale, work, arrived}); \
  }                                                                                                                                  \
  REGISTER(attention_decode_##type##_##dim);
#define ATTENTION_DECODE_TYPES(dim) \
  ATTENTION_DECODE(dim, f16)        \
  ATTENTION_DECODE(dim, bf16)       \
  ATTENTION_DECODE(dim, i8)
ATTENTION_DECODE_TYPES(64)
ATTENTION_DECODE_TYPES(128)
ATTENTION_DECODE_TYPES(256)
