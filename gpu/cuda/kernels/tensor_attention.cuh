// What the kernels of attention on tensor cores share, for decode and for prompts. They differ in which queries are rows, in
// who copies K and V, and in how a warp computes; a query's bits are the same.
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

typedef float Two __attribute__((vector_size(8)));
typedef uint32_t Words __attribute__((vector_size(16)));

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

// Out is where results go: float32, or rounded to 16 bits for the product that follows.
struct Out {
  void *to;
  int kind; // 0 float32, 1 bfloat16, 2 float16
};
// put_pair writes two elements that follow each other.
DEVICE void put_pair(const Out &out, int64_t at, float x, float y) {
  if (out.kind == 0) *(Two *)((float *)out.to + at) = Two{x, y};
  if (out.kind == 1) *(uint32_t *)((bf16 *)out.to + at) = pack<bf16>(x, y);
  if (out.kind == 2) *(uint32_t *)((f16 *)out.to + at) = pack<f16>(x, y);
}

// follows reports whether a token continues the sequence of the one before it in the step.
DEVICE bool follows(const Step *step, int token, int before) {
  return before >= 0 && token < step->tokens && step->token_row[token] == step->token_row[before] &&
         step->token_position[token] == step->token_position[before] + 1;
}

// alone reports whether a token is the only new one of its sequence. The others are parts of prompts.
DEVICE bool alone(const Step *step, int token) { return !follows(step, token, token - 1) && !follows(step, token + 1, token); }

} // namespace flash
