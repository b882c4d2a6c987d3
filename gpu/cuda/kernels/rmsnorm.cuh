// RMSNorm of one group of elements by one block, for kernels that differ in what they write.
#pragma once
#include "numeric.cuh"

// norm calls put(index, x) for each element and put4(index, x) for fours of elements, as the group has them.
//
// Order of sums: with T threads a block, thread t adds the squares of its elements by FMA in ascending order: elements
// t, t+T, ... of the group or, if group is a multiple of 4, fours t, t+T, ... Then lanes by butterfly from 16 down to 1,
// then warps in order. T is a function of group alone: 32 up to 512, otherwise 256.
template <class F, class G>
DEVICE void norm(const float *in, const float *gain, int group, float eps, F put, G put4) {
  SHARED(float, sums, [32]);
  int thread = threadIdx.x, threads = blockDim.x;
  bool fours = group % 4 == 0;
  float sum = 0;
  if (fours) {
    for (int i = thread * 4; i < group; i += threads * 4) {
      Four x = *(const Four *)(in + i);
      UNROLL
      for (int j = 0; j < 4; j++) sum = ffma(x[j], x[j], sum);
    }
  } else {
    for (int i = thread; i < group; i += threads) sum = ffma(in[i], in[i], sum);
  }
  UNROLL
  for (int lanes = 16; lanes > 0; lanes /= 2) sum = fadd(sum, __shfl_xor_sync(ALL_LANES, sum, lanes));
  if (threads > 32) {
    if (thread % 32 == 0) sums[thread / 32] = sum;
    __syncthreads();
    sum = sums[0];
    for (int i = 1; i < threads / 32; i++) sum = fadd(sum, sums[i]);
  }

  float scale = fdiv(1.0f, fsqrt(fadd(fdiv(sum, float(group)), eps)));
  if (fours) {
    for (int i = thread * 4; i < group; i += threads * 4) {
      Four x = *(const Four *)(in + i), g = *(const Four *)(gain + i);
      UNROLL
      for (int j = 0; j < 4; j++) x[j] = fmul(fmul(x[j], scale), g[j]);
      put4(i, x);
    }
  } else {
    for (int i = thread; i < group; i += threads) put(i, fmul(fmul(in[i], scale), gain[i]));
  }
}
