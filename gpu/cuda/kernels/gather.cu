// gather: out[o] = in[token of output o], the rows whose logits are wanted.
//
// Shapes: in [tokens][width], out [outputs][width].
// Order of sums: none.
// Launch: grid (output rows, any number of parts of the width), any block.
//
// | version | what | time |
// |---|---|---|
// | 1 | a thread an element | not measured |
#include "step.cuh"

KERNEL(gather)(const Step *step, const float *in, float *out, int width) {
  wait_for_previous();
  int output = blockIdx.x;
  if (output >= step->outputs) return;
  const float *from = in + int64_t(step->output_token[output]) * width;
  float *to = out + int64_t(output) * width;
  for (int i = blockIdx.y * blockDim.x + threadIdx.x; i < width; i += gridDim.y * blockDim.x) to[i] = from[i];
}
REGISTER(gather);
