// silu_mul: out = gate / (1 + e^-gate) * up.
//
// Shapes: gate, up, out [count][width]; out may be gate or up.
// Order of sums: each operation is rounded in the order of the formula.
// Launch: grid (rows, any number of parts of the width), any block.
//
// | version | what | time |
// |---|---|---|
// | 1 | a thread an element | not measured |
#include "numeric.cuh"

KERNEL(silu_mul)(const int32_t *count, const float *gate, const float *up, float *out, int width) {
  wait_for_previous();
  if (int(blockIdx.x) >= *count) return;
  int64_t row = int64_t(blockIdx.x) * width;
  for (int i = blockIdx.y * blockDim.x + threadIdx.x; i < width; i += gridDim.y * blockDim.x) {
    out[row + i] = fmul(silu(gate[row + i]), up[row + i]);
  }
}
REGISTER(silu_mul);
