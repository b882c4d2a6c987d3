// How the last block of a token of attention_decode merges the results that other blocks left in work.
#pragma once
#include "tensor_decode_copy.cuh"

namespace flash_decode {

// Parts are the results of segments in work, of one token, KV head and up to 16 rows of its group.
struct Parts {
  float *sums;    // [row][head_dim]
  Two *ends;      // [row] peak and total
  int64_t stride; // floats from one segment to the next
  int head_dim;
};
DEVICE float *sums_of(const Parts &p, int segment, int row) { return p.sums + segment * p.stride + row * p.head_dim; }
DEVICE Two *end_of(const Parts &p, int segment, int row) { return (Two *)((float *)p.ends + segment * p.stride) + row; }

// merge_parts merges segments in order. A thread has 4 elements of a row. What the sums are multiplied by depends on
// the peaks only, so a warp computes it for 32 segments at once.
template <int D>
DEVICE void merge_parts(const Parts &parts, Four *factors, int segments, int rows, const Out &out, int64_t at) {
  constexpr int COLUMNS = D / 4, GROUP = THREADS / COLUMNS; // rows at once
  constexpr int BATCH = 8;                                  // segments whose sums are loaded at once
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = threadIdx.x / COLUMNS, column = threadIdx.x % COLUMNS * 4;
  for (int from_row = 0; from_row < rows; from_row += GROUP) {
    bool mine = from_row + row < rows && column < parts.head_dim;
    Four sums = {};
    float total = 0, peak[(GROUP + WARPS - 1) / WARPS]; // of the rows whose factors this warp computes: warp and warp + 4
    UNROLL
    for (float &p : peak) p = -INFINITE;
    for (int from = 0; from < segments; from += BATCH) {
      Four next[BATCH];
      UNROLL
      for (int i = 0; i < BATCH; i++)
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
      for (int i = 0; i < BATCH; i++) {
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

} // namespace flash_decode
