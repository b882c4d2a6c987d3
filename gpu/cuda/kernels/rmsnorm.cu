// rmsnorm: out = in / sqrt(mean(in^2) + eps) * gain, over groups of elements of a row (Zhang and Sennrich 2019, eq. 4).
//
// Shapes: in and out [count][width], may be the same; gain [group]. group divides width.
// Order of sums: rmsnorm.cuh.
// Launch: grid (rows, width / group), block 32 if group <= 512, otherwise 256.
//
// | version | what | time |
// |---|---|---|
// | 1 | one block a group, vectors of 4, the row is read twice (the second time from L1) | not measured |
#include "rmsnorm.cuh"

KERNEL(rmsnorm)(const int32_t *count, const float *in, const float *gain, float *out, int width, int group, float eps) {
  wait_for_previous();
  if (int(blockIdx.x) >= *count) return;
  int64_t at = int64_t(blockIdx.x) * width + int64_t(blockIdx.y) * group;
  out += at;
  norm(in + at, gain, group, eps, [=](int i, float x) { out[i] = x; }, [=](int i, Four x) { *(Four *)(out + i) = x; });
}
REGISTER(rmsnorm);
