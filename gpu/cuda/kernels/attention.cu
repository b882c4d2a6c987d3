// attention: causal attention of each token over positions 0 to its own, read through the page table. Plain: any
// head_dim to 256, pools of any type, GQA, MQA and MHA alike. An online softmax (Milakov and Gimelshein 2018; Dao et al.
// 2022) over blocks of positions, in segments that are merged.
//
// Shapes: q, out [tokens][heads x head_dim]; pools and scales as kv.cuh says. Query head h reads KV head
//   h / (heads / kv_heads).
// Order of sums, for each query head:
//   score = (q.k summed from zero by FMA in ascending order) x scale, with k as the pool reads back;
//   blocks of 64 positions from 0: the peak becomes the larger of the old one and the block's; weights are
//   e^(score - peak); total and sums shrink by e^(old peak - peak); the weights of positions i and i + 32 are added,
//   then those of the 32 lanes by butterfly from 16 down to 1, and join the total by FMA; weight x v joins the sums by
//   FMA in ascending order. Positions past the token's own are skipped.
//   512 positions are a segment, which begins from nothing. Segments are merged in order (order.cuh). At the end
//   sums / total.
// Launch: grid (rows, heads), block 128: a warp a segment, 4 at once.
//
// | version | what | time |
// |---|---|---|
// | 1 | a lane takes 2 positions for scores, head_dim / 32 elements for sums | not measured |
#include "kv.cuh"
#include "order.cuh"

namespace attention {

constexpr int WARPS = 4, WIDEST = 256, ELEMENTS = WIDEST / 32;

// Sums of a segment are relative to e^peak.
struct Sums {
  float acc[WIDEST], peak, total;
};

struct Shared {
  alignas(16) float query[WIDEST];
  float weight[WARPS][BLOCK];
  int64_t vector[WARPS][BLOCK];
  Sums part[WARPS];
};

// Vectors is a pool of K or V. FOURS: head_dim is a multiple of 4 and elements are read by four.
template <class T, bool FOURS>
struct Vectors {
  const T *elements;
  const float *scale; // of int8
  int head_dim;
};

// dot is q.k of the vector at an index.
template <class T, bool FOURS>
DEVICE float dot(const Vectors<T, FOURS> &keys, int64_t at, const float *query) {
  const T *k = keys.elements + at * keys.head_dim;
  float scale = sizeof(T) == 1 ? keys.scale[at] : 0, sum = 0;
  if constexpr (FOURS) {
    UNROLL_BY(2)
    for (int i = 0; i < keys.head_dim; i += 4) {
      Four x = widen4(k + i), q = *(const Four *)(query + i);
      UNROLL
      for (int j = 0; j < 4; j++) sum = ffma(q[j], sizeof(T) == 1 ? fmul(scale, x[j]) : x[j], sum);
    }
  } else {
    for (int i = 0; i < keys.head_dim; i++) {
      float x = widen(k[i]);
      sum = ffma(query[i], sizeof(T) == 1 ? fmul(scale, x) : x, sum);
    }
  }
  return sum;
}

// element is the index in a vector of element j of a lane.
template <bool FOURS>
DEVICE int element(int lane, int j) {
  return FOURS ? j / 4 * 128 + lane * 4 + j % 4 : j * 32 + lane;
}

// add adds weight x vector to this lane's elements of the sums.
template <class T, bool FOURS>
DEVICE void add(const Vectors<T, FOURS> &values, int64_t at, float weight, float (&acc)[ELEMENTS]) {
  const T *v = values.elements + at * values.head_dim;
  float scale = sizeof(T) == 1 ? values.scale[at] : 0;
  int lane = threadIdx.x % 32;
  UNROLL
  for (int j = 0; j < ELEMENTS; j += FOURS ? 4 : 1) {
    int i = element<FOURS>(lane, j);
    if (i >= values.head_dim) continue;
    if constexpr (FOURS) {
      Four x = widen4(v + i);
      UNROLL
      for (int c = 0; c < 4; c++) acc[j + c] = ffma(weight, sizeof(T) == 1 ? fmul(scale, x[c]) : x[c], acc[j + c]);
    } else {
      float x = widen(v[i]);
      acc[j] = ffma(weight, sizeof(T) == 1 ? fmul(scale, x) : x, acc[j]);
    }
  }
}

// segment computes positions [from, to) with one warp.
template <class T, bool FOURS>
DEVICE void segment(const Step *step, const int32_t *pages, int from, int to, const Vectors<T, FOURS> &keys, const Vectors<T, FOURS> &values,
                    int kv_heads, int kv_head, float scale, const float *query, float *weight, int64_t *vector, Sums &result) {
  int lane = threadIdx.x % 32;
  float peak = -INFINITE, total = 0, acc[ELEMENTS];
  UNROLL
  for (int j = 0; j < ELEMENTS; j++) acc[j] = 0;
  for (int base = from; base < to; base += BLOCK) {
    int here = lesser(to - base, BLOCK);
    float score[2];
    UNROLL
    for (int j = 0; j < 2; j++) {
      int i = lane + j * 32;
      score[j] = -INFINITE;
      if (i >= here) continue;
      int64_t at = vector_of(step, pages, base + i, kv_heads, kv_head);
      vector[i] = at;
      score[j] = fmul(dot(keys, at, query), scale);
    }
    float highest = flarger(score[0], score[1]);
    UNROLL
    for (int lanes = 16; lanes > 0; lanes /= 2) highest = flarger(highest, __shfl_xor_sync(ALL_LANES, highest, lanes));
    highest = flarger(peak, highest);
    float shrink = exp_not_positive(fsub(peak, highest)), sum = 0;
    peak = highest;
    UNROLL
    for (int j = 0; j < 2; j++) {
      int i = lane + j * 32;
      if (i >= here) continue;
      weight[i] = exp_not_positive(fsub(score[j], peak));
      sum = fadd(sum, weight[i]);
    }
    UNROLL
    for (int lanes = 16; lanes > 0; lanes /= 2) sum = fadd(sum, __shfl_xor_sync(ALL_LANES, sum, lanes));
    total = ffma(total, shrink, sum);
    UNROLL
    for (int j = 0; j < ELEMENTS; j++) acc[j] = fmul(acc[j], shrink);
    __syncwarp();
    UNROLL_BY(2)
    for (int i = 0; i < here; i++) add(values, vector[i], weight[i], acc);
    __syncwarp();
  }
  UNROLL
  for (int j = 0; j < ELEMENTS; j++) {
    int i = element<FOURS>(lane, j);
    if (i < values.head_dim) result.acc[i] = acc[j];
  }
  if (lane == 0) {
    result.peak = peak;
    result.total = total;
  }
}

template <class T, bool FOURS>
DEVICE void run(Shared &shared, const Step *step, const float *q, float *out, const T *kpool, const T *vpool, const float *kscale,
                const float *vscale, int heads, int kv_heads, int head_dim, float scale) {
  int token = blockIdx.x, head = blockIdx.y, kv_head = head / (heads / kv_heads), warp = threadIdx.x / 32;
  int64_t row = (int64_t(token) * heads + head) * head_dim;
  for (int i = threadIdx.x; i < head_dim; i += WARPS * 32) shared.query[i] = q[row + i];
  __syncthreads();

  const int32_t *pages = pages_of(step, token);
  Vectors<T, FOURS> keys{kpool, kscale, head_dim}, values{vpool, vscale, head_dim};
  int end = step->token_position[token] + 1;
  float peak = 0, total = 0, acc[WIDEST / (WARPS * 32)];
  for (int base = 0; base < end; base += WARPS * POSITIONS) {
    int from = base + warp * POSITIONS;
    if (from < end) {
      segment(step, pages, from, lesser(from + POSITIONS, end), keys, values, kv_heads, kv_head, scale, shared.query, shared.weight[warp],
              shared.vector[warp], shared.part[warp]);
    }
    __syncthreads();
    for (int w = 0; w < WARPS && base + w * POSITIONS < end; w++) {
      const Sums &part = shared.part[w];
      bool begins = base + w == 0;
      float mine = 0, theirs = 1;
      if (begins) {
        peak = part.peak;
        total = part.total;
      } else {
        merge(peak, total, part.peak, part.total, mine, theirs);
      }
      UNROLL
      for (int j = 0; j < WIDEST / (WARPS * 32); j++) {
        int i = threadIdx.x + j * WARPS * 32;
        if (i < head_dim) acc[j] = begins ? part.acc[i] : join(acc[j], mine, part.acc[i], theirs);
      }
    }
    __syncthreads();
  }
  UNROLL
  for (int j = 0; j < WIDEST / (WARPS * 32); j++) {
    int i = threadIdx.x + j * WARPS * 32;
    if (i < head_dim) out[row + i] = fdiv(acc[j], total);
  }
}

} // namespace attention

#define ATTENTION(type)                                                                                                                  \
  KERNEL_BLOCKS(128, 4, attention_##type)                                                                                                  \
  (const Step *step, const float *q, float *out, const type *kpool, const type *vpool, const float *kscale, const float *vscale,         \
   int heads, int kv_heads, int head_dim, float scale) {                                                                                 \
    wait_for_previous();                                                                                                                 \
    SHARED(attention::Shared, shared, );                                                                                                 \
    if (int(blockIdx.x) >= step->tokens) return;                                                                                         \
    if (head_dim % 4 == 0) {                                                                                                             \
      attention::run<type, true>(shared, step, q, out, kpool, vpool, kscale, vscale, heads, kv_heads, head_dim, scale);                  \
    } else {                                                                                                                             \
      attention::run<type, false>(shared, step, q, out, kpool, vpool, kscale, vscale, heads, kv_heads, head_dim, scale);                 \
    }                                                                                                                                    \
  }                                                                                                                                      \
  REGISTER(attention_##type);
ATTENTION(f32)
ATTENTION(f16)
ATTENTION(bf16)
ATTENTION(i8)
