// attention_decode: attention of tokens that are the only new one of their sequence, on tensor cores. The tokens of
// prompts are left to attention_prompt: both kernels are started for every step that may have both.
//
// Shapes: q [tokens][heads x head_dim] in float32; out the same, of the type that kind says (0 float32, 1 bfloat16,
//   2 float16); pools and scales as kv.cuh says. head_dim is a multiple of 8 and at most the kernel's. With splits: work
//   has work_floats floats for results of segments: [grid x][kv_heads][segments][group][head_dim] sums, then their peaks
//   and totals; arrived [tokens][grid y] zeros, which are zeros again at the end.
// Order of sums: tensor_attention.cuh.
// Launch: grid (rows, kv_heads x ceil(heads / kv_heads / 16), splits), block 128, dynamic shared memory for 64, 128 and
//   256: 32,768, 65,536 and 131,072 bytes, half of that for int8. splits > 1 spreads the segments over blocks. A token
//   with more segments than work has room for is computed by one block.
//
// The rows of products are up to 16 query heads that share a KV head. The 4 warps of a thread block share each block of
// 64 positions: a warp has the scores of 16 positions, then a quarter of the elements of V. K and V of the next two
// blocks are on their way meanwhile, each into the buffer that was read last; the page table is read one block before
// that. Several thread blocks on a multiprocessor hide each other's barriers.
//
// | version | what | time of 1, 64, 256 rows at 2,048 on an H200: 32 heads, 8 KV heads, 128 elements |
// |---|---|---|
// | 1 | a warp a segment, K and V of one block on their way, no barrier of the block inside of a segment | bfloat16 69, 280, 1121 us; int8 163, 1108, 4425 us |
// | 2 | four warps a segment, K and V two blocks ahead; codes are widened in registers | not measured |
#include "tensor_attention.cuh"

namespace decode {

using namespace flash;

constexpr int WARPS = 4, THREADS = WARPS * 32;
constexpr int STEPS = BLOCK / 16;              // of the products with V
constexpr int BLOCKS = POSITIONS / BLOCK;      // of a segment
constexpr int WEIGHTS = BLOCK + 8;             // floats of a row of weights: rows lie in different banks

// Dynamic shared memory: K of two blocks, V of two blocks.
template <int D, class T>
constexpr int ROW = D * int(sizeof(T)); // bytes of a vector
template <int D, class T>
constexpr int BUFFER = BLOCK * ROW<D, T>;

// at is where 16 bytes of a vector lie in a buffer: as chunk_of has them, or two rows of 64 bytes in one of 128.
template <int D, class T>
DEVICE unsigned char *at(unsigned char *buffer, int row, int chunk) {
  constexpr int CHUNKS = ROW<D, T> / 16;
  if constexpr (CHUNKS < ROW_CHUNKS) return buffer + row * ROW<D, T> + (chunk ^ (row / 2 % CHUNKS)) * 16;
  return chunk_of(buffer + chunk / ROW_CHUNKS * TILE_BYTES, row, chunk % ROW_CHUNKS);
}

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

typedef float Two __attribute__((vector_size(8)));
typedef uint32_t Words __attribute__((vector_size(16)));

// Shared is what warps tell each other about a block of positions.
template <class T>
struct Shared {
  static constexpr int SCALED = sizeof(T) == 1 ? BLOCK : 1;
  int64_t bytes[2][BLOCK];    // where vectors begin in a pool
  int64_t vector[2][SCALED];  // their indices
  float scales[2][2][SCALED]; // of K and of V
  Words pairs[WARPS][32];     // weights as first operands
  Four highest[ROWS];         // by warp
  float weights[ROWS * WEIGHTS];
  float total[ROWS];
};

// copy starts the copy of K or V of n positions. Positions from n on and elements from head_dim on are zeros.
template <int D, class T>
DEVICE void copy(unsigned char *buffer, const T *pool, const int64_t *bytes, int head_dim, int n) {
  constexpr int CHUNKS = ROW<D, T> / 16, STEP = THREADS / CHUNKS;
  int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS, left = head_dim * int(sizeof(T)) - chunk * 16;
  const char *from = (const char *)pool + chunk * 16;
  if (sizeof(T) == 2 || head_dim % 16 == 0) {
    if (left <= 0) n = 0;
    UNROLL
    for (int i = 0; i < BLOCK; i += STEP) cp_async16(at<D, T>(buffer, row + i, chunk), from + bytes[row + i], row + i < n);
    return;
  }
  UNROLL_BY(2)
  for (int i = 0; i < BLOCK; i += STEP) {
    unsigned char *to = at<D, T>(buffer, row + i, chunk);
    cp_async8(to, from + bytes[row + i], row + i < n && left > 0);
    cp_async8(to + 8, from + bytes[row + i] + 8, row + i < n && left > 8);
  }
}

// codes widens the codes in bytes 0 and 2 to a pair of bfloat16, exactly: the low 7 bits as the fraction of 128 + x, less
// 128, or 256 for a negative code. Bytes 1 and 3 may be anything.
DEVICE uint32_t codes(uint32_t x) { return sub_bf16x2((x & 0x007f007f) | 0x43004300, (x & 0x00800080) | 0x43004300); }

// score_keys adds q.k of a warp's 16 positions: score[j] as mma has it for 8 of them.
template <int D, class T>
DEVICE void score_keys(float (&score)[2][4], const uint32_t (&q)[D / 16][4], unsigned char *keys) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint32_t pair = lane % 4 * 0x202 + 0x100; // bytes 2 t and 2 t + 1 as bytes 0 and 2
  UNROLL
  for (int step = 0; step < D / 16; step++) {
    if constexpr (sizeof(T) == 2) {
      uint32_t b[4];
      load_b(b, keys + step / 4 * TILE_BYTES, warp * 16, step % 4);
      mma<T>(score[0], q[step], b[0], b[1]);
      mma<T>(score[1], q[step], b[2], b[3]);
    } else {
      UNROLL
      for (int j = 0; j < 2; j++) {
        Words w = *(const Words *)at<D, T>(keys, warp * 16 + j * 8 + lane / 4, step);
        mma<bf16>(score[j], q[step], codes(byte_perm(w[0], w[1], pair)), codes(byte_perm(w[2], w[3], pair)));
      }
    }
  }
}

// add_values adds weight x v of a warp's elements to the sums. Tile i of 8 columns is elements 8 i to 8 i + 7 of them;
// with int8, where two codes lie in 16 bits, tiles 2 i and 2 i + 1 are the even and the odd ones of 16.
template <int D, class T>
DEVICE void add_values(float (&sums)[D / 32][4], const Words *pairs, unsigned char *values) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr int CHUNKS = ROW<D, T> / 16 / WARPS; // of a warp
  uint32_t a[STEPS][4];
  UNROLL
  for (int j = 0; j < STEPS; j++) {
    Words w = pairs[j * 32 + lane];
    UNROLL
    for (int c = 0; c < 4; c++) a[j][c] = w[c];
  }
  if constexpr (CHUNKS == 1) { // only int8: 32 positions at once
    UNROLL
    for (int j = 0; j < STEPS; j += 2) {
      uint32_t b[4];
      ldmatrix_x4_trans(b, at<D, T>(values, j * 16 + lane, warp));
      UNROLL
      for (int h = 0; h < 2; h++) {
        mma<bf16>(sums[0], a[j + h], codes(b[2 * h]), codes(b[2 * h + 1]));
        mma<bf16>(sums[1], a[j + h], codes(b[2 * h] >> 8), codes(b[2 * h + 1] >> 8));
      }
    }
    return;
  }
  UNROLL
  for (int i = 0; i < CHUNKS / 2; i++)
    UNROLL
    for (int j = 0; j < STEPS; j++) {
      uint32_t b[4];
      ldmatrix_x4_trans(b, at<D, T>(values, j * 16 + lane % 16, warp * CHUNKS + i * 2 + lane / 16));
      UNROLL
      for (int h = 0; h < 2; h++) {
        if constexpr (sizeof(T) == 2) {
          mma<T>(sums[2 * i + h], a[j], b[2 * h], b[2 * h + 1]);
        } else {
          mma<bf16>(sums[4 * i + 2 * h], a[j], codes(b[2 * h]), codes(b[2 * h + 1]));
          mma<bf16>(sums[4 * i + 2 * h + 1], a[j], codes(b[2 * h] >> 8), codes(b[2 * h + 1] >> 8));
        }
      }
    }
}

// each_pair calls f(element, sum, next sum) for a warp's sums of row lane / 4 + 8 r.
template <int D, class T, class F>
DEVICE void each_pair(const float (&sums)[D / 32][4], int r, F f) {
  int t = threadIdx.x % 4, first = threadIdx.x / 32 * (D / WARPS);
  if constexpr (sizeof(T) == 2) {
    UNROLL
    for (int i = 0; i < D / 32; i++) f(first + i * 8 + t * 2, sums[i][2 * r], sums[i][2 * r + 1]);
  } else {
    UNROLL
    for (int i = 0; i < D / 64; i++) {
      f(first + i * 16 + t * 4, sums[2 * i][2 * r], sums[2 * i + 1][2 * r]);
      f(first + i * 16 + t * 4 + 2, sums[2 * i][2 * r + 1], sums[2 * i + 1][2 * r + 1]);
    }
  }
}

DEVICE void put_pair(const Out &out, int64_t at, float x, float y) {
  if (out.kind == 0) *(Two *)((float *)out.to + at) = Two{x, y};
  if (out.kind == 1) *(uint32_t *)((bf16 *)out.to + at) = pack<bf16>(x, y);
  if (out.kind == 2) *(uint32_t *)((f16 *)out.to + at) = pack<f16>(x, y);
}

// Parts are the results of segments in work, of one token, KV head and up to 16 rows of its group.
struct Parts {
  float *sums; // of a segment: [group][head_dim]
  Two *ends;   // [group] peak and total
  int group, head_dim;
};
DEVICE float *sums_of(const Parts &p, int segment, int row) { return p.sums + (int64_t(segment) * p.group + row) * p.head_dim; }
DEVICE Two *end_of(const Parts &p, int segment, int row) { return p.ends + int64_t(segment) * p.group + row; }

// merge_parts merges segments in order. A thread has 4 elements of a row. What the sums are multiplied by depends on
// the peaks only, so a warp computes it for 32 segments at once.
template <int D>
DEVICE void merge_parts(const Parts &parts, Four *factors, int segments, int rows, const Out &out, int64_t at) {
  constexpr int COLUMNS = D / 4, GROUP = THREADS / COLUMNS; // rows at once
  constexpr int AHEAD = 8;                                  // segments
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = threadIdx.x / COLUMNS, column = threadIdx.x % COLUMNS * 4;
  for (int from_row = 0; from_row < rows; from_row += GROUP) {
    bool mine = from_row + row < rows && column < parts.head_dim;
    Four sums = {};
    float total = 0, peak[(GROUP + WARPS - 1) / WARPS]; // of the rows whose factors this warp computes: warp and warp + 4
    UNROLL
    for (float &p : peak) p = -INFINITE;
    for (int from = 0; from < segments; from += AHEAD) {
      Four next[AHEAD];
      UNROLL
      for (int i = 0; i < AHEAD; i++)
        if (mine && from + i < segments) next[i] = *(const Four *)(sums_of(parts, from + i, from_row + row) + column);
      if (from % 32 == 0) {
        __syncthreads(); // factors may be overwritten
        UNROLL
        for (int i = 0; i < (GROUP + WARPS - 1) / WARPS; i++) {
          int r = warp + i * WARPS;
          if (r >= GROUP || from_row + r >= rows) continue;
          Two end = {-INFINITE, 0};
          if (from + lane < segments) end = *end_of(parts, from + lane, from_row + r);
          float highest = end[0];
          if (lane == 0) highest = flarger(peak[i], highest);
          UNROLL
          for (int d = 1; d < 32; d *= 2) {
            float before = __shfl_up_sync(ALL_LANES, highest, d);
            if (lane >= d) highest = flarger(before, highest);
          }
          float before = __shfl_up_sync(ALL_LANES, highest, 1);
          if (lane == 0) before = peak[i];
          float theirs = exp_not_positive(fsub(end[0], highest));
          factors[r * 32 + lane] = Four{exp_not_positive(fsub(before, highest)), theirs, fmul(end[1], theirs), end[1]};
          peak[i] = __shfl_sync(ALL_LANES, highest, 31);
        }
        __syncthreads(); // factors are there
      }
      UNROLL
      for (int i = 0; i < AHEAD; i++) {
        if (from + i >= segments) break;
        Four factor = factors[row * 32 + (from + i) % 32];
        if (from + i == 0) {
          sums = next[i];
          total = factor[3];
          continue;
        }
        total = ffma(total, factor[0], factor[2]);
        UNROLL
        for (int c = 0; c < 4; c++) sums[c] = join(sums[c], factor[0], next[i][c], factor[1]);
      }
    }
    if (!mine) continue;
    int64_t to = at + int64_t(from_row + row) * parts.head_dim + column;
    put_pair(out, to, fdiv(sums[0], total), fdiv(sums[1], total));
    put_pair(out, to + 2, fdiv(sums[2], total), fdiv(sums[3], total));
  }
}

template <int D, class T>
DEVICE void run(const Args<T> &args) {
  using H = Half<T>;
  constexpr bool SCALED = sizeof(T) == 1;
  DYNAMIC_SHARED(memory);
  SHARED(Shared<T>, shared, );
  const Step *step = args.step;
  int token = blockIdx.x, thread = threadIdx.x, warp = thread / 32, lane = thread % 32, g = lane / 4, t = lane % 4;
  if (token >= step->tokens || !alone(step, token)) return;

  // This block has segments z, z + blocks, ...
  int end = step->token_position[token] + 1, segments = (end + POSITIONS - 1) / POSITIONS, z = blockIdx.z;
  int heads = args.heads, kv_heads = args.kv_heads, head_dim = args.head_dim, group = heads / kv_heads, chunks = (group + ROWS - 1) / ROWS;
  int kv_head = int(blockIdx.y) / chunks, from_row = int(blockIdx.y) % chunks * ROWS, rows = lesser(group - from_row, ROWS);
  int room = 0, blocks = 1;
  if (gridDim.z > 1) {
    room = int(unsigned(args.work_floats) / (gridDim.x * unsigned(heads * (head_dim + 2)))); // segments of a token
    if (segments <= room) blocks = lesser(int(gridDim.z), segments);
  }
  if (z >= blocks) return;
  const int32_t *pages = pages_of(step, token);
  int page_shift = step->page_shift;

  int64_t widest = blocks > 1 ? room : 0, in_all = int64_t(gridDim.x) * heads * widest;
  int64_t part = (int64_t(token) * kv_heads + kv_head) * widest * group + from_row;
  Parts parts{args.work + part * head_dim, (Two *)(args.work + in_all * head_dim) + part, group, head_dim};

  // A block of positions is looked up by 64 threads: its page, one block later where its vectors lie.
  auto base_of = [&](int n) { return (z + n / BLOCKS * blocks) * POSITIONS + n % BLOCKS * BLOCK; };
  auto page_of = [&](int n) {
    int position = base_of(n) + thread % BLOCK;
    return position < end ? pages[position >> page_shift] : 0; // page 0 is padding
  };
  auto look_up = [&](int n, int page) {
    int slot = (base_of(n) + thread % BLOCK) & ((1 << page_shift) - 1);
    int64_t vector = ((int64_t(page) * kv_heads + kv_head) << page_shift) + slot;
    shared.bytes[n % 2][thread % BLOCK] = vector * (head_dim * int(sizeof(T)));
    if constexpr (SCALED) shared.vector[n % 2][thread % BLOCK] = vector;
  };
  auto copy_keys = [&](int n) {
    int left = end - base_of(n);
    if (left > 0) copy<D, T>(memory + n % 2 * BUFFER<D, T>, args.kpool, shared.bytes[n % 2], head_dim, left);
    if constexpr (SCALED) {
      int i = thread % BLOCK, of = thread / BLOCK;
      cp_async4(&shared.scales[n % 2][of][i], (of ? args.vscale : args.kscale) + shared.vector[n % 2][i], i < left);
    }
    cp_async_commit();
  };
  auto copy_values = [&](int n) {
    int left = end - base_of(n);
    if (left > 0) copy<D, T>(memory + (2 + n % 2) * BUFFER<D, T>, args.vpool, shared.bytes[n % 2], head_dim, left);
    cp_async_commit();
  };
  look_up(thread / BLOCK, page_of(thread / BLOCK));
  int page = page_of(2);
  __syncthreads();
  copy_keys(0);
  copy_values(0);
  copy_keys(1);

  // Queries go to registers through the buffer of V that is still free.
  uint32_t q[D / 16][4];
  {
    unsigned char *tiles = memory + 3 * BUFFER<D, T>;
    const float *from = args.q + (int64_t(token) * heads + kv_head * group + from_row) * head_dim;
    UNROLL
    for (int i = 0; i < ROWS * D / 2; i += THREADS) {
      int row = (i + thread) / (D / 2), pair = (i + thread) % (D / 2);
      Two x = {0, 0};
      if (row < rows && pair * 2 < head_dim) x = *(const Two *)(from + row * head_dim + pair * 2);
      *(uint32_t *)(chunk_of(tiles + pair / (TILE_K / 2) * ROWS * ROW_BYTES, row, pair / 4 % ROW_CHUNKS) + pair % 4 * 4) = pack<H>(x[0], x[1]);
    }
    __syncthreads();
    UNROLL
    for (int i = 0; i < D / 16; i++) load_a(q[i], tiles + i / 4 * ROWS * ROW_BYTES, 0, i % 4);
  }

  float peak[2] = {-INFINITE, -INFINITE}, sums[D / 32][4] = {}, merged_peak[2] = {0, 0}, merged[D / 32][4] = {};
  float total = 0, merged_total = 0; // of row g, or g + 8 in warp 1
  for (int n = 0, base; (base = base_of(n)) < end; n++) {
    unsigned char *keys = memory + n % 2 * BUFFER<D, T>, *values = keys + 2 * BUFFER<D, T>;
    if (thread >= THREADS - BLOCK) {
      look_up(n + 2, page);
      page = page_of(n + 3);
    }
    cp_async_wait<2>();
    __syncthreads(); // K is there, and the other V may be overwritten
    copy_values(n + 1);

    float score[2][4] = {};
    Two key_scale[2], value_scale[2];
    if constexpr (SCALED) {
      UNROLL
      for (int j = 0; j < 2; j++) {
        key_scale[j] = *(const Two *)&shared.scales[n % 2][0][warp * 16 + j * 8 + t * 2];
        value_scale[j] = *(const Two *)&shared.scales[n % 2][1][warp * 16 + j * 8 + t * 2];
      }
    }
    score_keys<D, T>(score, q, keys);
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
          x = base + warp * 16 + j * 8 + t * 2 + c < end ? x : -INFINITE;
          score[j][2 * r + c] = x;
          highest = flarger(highest, x);
        }
      highest = flarger(highest, __shfl_xor_sync(ALL_LANES, highest, 2));
      highest = flarger(highest, __shfl_xor_sync(ALL_LANES, highest, 1));
      if (t == 0) ((float *)&shared.highest[g + 8 * r])[warp] = highest;
    }
    __syncthreads(); // the peaks are there, and K may be overwritten
    copy_keys(n + 2);

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
    cp_async_wait<3>();
    __syncthreads(); // weights and V are there

    UNROLL
    for (int i = 0; i < D / 32; i++)
      UNROLL
      for (int c = 0; c < 4; c++) sums[i][c] = fmul(sums[i][c], shrink[c / 2]);
    add_values<D, T>(sums, shared.pairs[0], values);
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
      float mine[2] = {0, 0}, theirs[2] = {1, 1};
      UNROLL
      for (int r = 0; r < 2; r++) {
        float both = merged_total;
        if (n < BLOCKS) {
          merged_peak[r] = peak[r];
          both = total;
        } else {
          merge(merged_peak[r], both, peak[r], total, mine[r], theirs[r]);
        }
        if (r == warp) merged_total = both;
      }
      UNROLL
      for (int i = 0; i < D / 32; i++)
        UNROLL
        for (int c = 0; c < 4; c++) merged[i][c] = n < BLOCKS ? sums[i][c] : join(merged[i][c], mine[c / 2], sums[i][c], theirs[c / 2]);
    }
    peak[0] = peak[1] = -INFINITE;
    total = 0;
    UNROLL
    for (int i = 0; i < D / 32; i++)
      UNROLL
      for (int c = 0; c < 4; c++) sums[i][c] = 0;
  }

  int64_t first = (int64_t(token) * heads + kv_head * group + from_row) * head_dim; // of out
  if (blocks > 1) {
    if (arrive(args.arrived + int64_t(token) * gridDim.y + blockIdx.y, blocks)) merge_parts<D>(parts, (Four *)memory, segments, rows, args.out, first);
    return;
  }
  if (warp < 2) shared.total[warp * 8 + g] = merged_total;
  __syncthreads(); // totals are there
  UNROLL
  for (int r = 0; r < 2; r++) {
    if (g + 8 * r >= rows) break;
    float all = shared.total[g + 8 * r];
    each_pair<D, T>(merged, r, [&](int i, float x, float y) {
      if (i < head_dim) put_pair(args.out, first + (g + 8 * r) * head_dim + i, fdiv(x, all), fdiv(y, all));
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
ATTENTION_DECODE_HALVES(64, 5)
ATTENTION_DECODE_HALVES(128, 3)
ATTENTION_DECODE_HALVES(256, 1)
ATTENTION_DECODE(64, i8, 4)
ATTENTION_DECODE(128, i8, 3)
ATTENTION_DECODE(256, i8, 2)
