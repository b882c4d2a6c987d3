// linear: out = in W^T + bias, or out += it. The plain product: any shape, weights of 32 or 16 bits widened to float32.
//
// Shapes: in [count][k], w [n][k], bias [n] or null, out [count][n].
// Order of sums, for each output: k in segments of SEGMENT elements, each summed from zero by FMA in ascending order;
//   the segments are added in order to zero; then the bias is added; with accumulate the old out is added last.
// Launch: grid (ceil(n / 32), any number of row groups), block 256.
//
// A block computes 32 columns. Each of its 8 warps takes a segment, each lane a column: the warp copies 32 x 32 weights
// through shared memory, so that reads of W are coalesced and a lane walks along its own row. A lane keeps 1 or 8 rows.
//
// | version | what | time |
// |---|---|---|
// | 1 | 8 segments at once, 8 rows a lane, warps without a common barrier inside a segment | not measured |
#include "numeric.cuh"
#include "order.cuh"

namespace linear {

constexpr int COLUMNS = 32, WARPS = 8, ROWS = 8, CHUNK = 32;

union Warp {
  struct {
    alignas(16) float x[CHUNK][ROWS];
    float w[COLUMNS][CHUNK + 1]; // one more, so that lanes hit different banks
  };
  float sum[ROWS][COLUMNS]; // of the segment, when x and w are done with
};

// product sums [from, to) of k for rows [0, R) of in and this lane's column, of columns that w begins with.
template <class T, int R>
DEVICE void product(Warp &shared, const float *in, const T *w, int columns, int k, int from, int to, float (&sum)[R]) {
  int lane = threadIdx.x % 32;
  UNROLL
  for (int r = 0; r < R; r++) sum[r] = 0;
  for (int at = from; at < to; at += CHUNK) {
    int here = lesser(to - at, CHUNK);
    if (lane < here) {
      UNROLL_BY(16)
      for (int c = 0; c < columns; c++) shared.w[c][lane] = widen(w[int64_t(c) * k + at + lane]);
      UNROLL
      for (int r = 0; r < R; r++) shared.x[lane][r] = in[int64_t(r) * k + at + lane];
    }
    __syncwarp();
    if (lane < columns) {
      UNROLL_BY(8)
      for (int i = 0; i < here; i++) {
        float weight = shared.w[lane][i];
        UNROLL
        for (int r = 0; r < R; r++) sum[r] = ffma(shared.x[i][r], weight, sum[r]);
      }
    }
    __syncwarp();
  }
}

template <class T>
DEVICE void run(const int32_t *count, const float *in, const T *w, const float *bias, float *out, int n, int k, int accumulate) {
  SHARED(Warp, shared, [WARPS]);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int first = blockIdx.x * COLUMNS, columns = lesser(n - first, COLUMNS);
  int segments = segments_of(k), rows = *count;
  w += int64_t(first) * k;

  for (int row = blockIdx.y * ROWS; row < rows; row += gridDim.y * ROWS) {
    int here = lesser(rows - row, ROWS);
    float total = 0; // of row `warp` and column `lane` of this tile
    for (int base = 0; base < segments; base += WARPS) {
      int from = (base + warp) * SEGMENT, to = lesser(from + SEGMENT, k);
      if (base + warp < segments) {
        if (here == ROWS) {
          float sum[ROWS];
          product<T, ROWS>(shared[warp], in + int64_t(row) * k, w, columns, k, from, to, sum);
          UNROLL
          for (int r = 0; r < ROWS; r++) shared[warp].sum[r][lane] = sum[r];
        } else {
          float sum[ROWS] = {};
          for (int r = 0; r < here; r++) {
            float one[1];
            product<T, 1>(shared[warp], in + int64_t(row + r) * k, w, columns, k, from, to, one);
            UNROLL
            for (int i = 0; i < ROWS; i++) sum[i] = i == r ? one[0] : sum[i];
          }
          UNROLL
          for (int r = 0; r < ROWS; r++) shared[warp].sum[r][lane] = sum[r];
        }
      }
      __syncthreads();
      if (warp < here) {
        int last = lesser(segments - base, WARPS);
        for (int i = 0; i < last; i++) total = fadd(total, shared[i].sum[warp][lane]);
      }
      __syncthreads();
    }
    if (warp < here && lane < columns) {
      float *to = out + int64_t(row + warp) * n + first + lane;
      if (bias) total = fadd(total, bias[first + lane]);
      if (accumulate) total = fadd(total, *to);
      *to = total;
    }
  }
}

} // namespace linear

#define LINEAR(type)                                                                                                          \
  KERNEL_BLOCKS(256, 3, linear_##type)                                                                                          \
  (const int32_t *count, const float *in, const type *w, const float *bias, float *out, int n, int k, int accumulate) {       \
    wait_for_previous();                                                                                                      \
    linear::run(count, in, w, bias, out, n, k, accumulate);                                                                   \
  }                                                                                                                           \
  REGISTER(linear_##type);
LINEAR(f32)
LINEAR(f16)
LINEAR(bf16)
