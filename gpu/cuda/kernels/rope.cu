// rope: rotates pairs of elements of each head by an angle that depends on the token's position, in place
// (Su et al. 2021; half-split layout): (a, b) becomes ((a cos - b sin) scale, (b cos + a sin) scale).
//
// Shapes: x [tokens][width], heads of head_dim; table [context][half][2] with cos, sin. Element j of a head pairs with
//   j + half; elements from 2 half on are unchanged.
// Order of sums: rope.cuh.
// Launch: grid (rows, any number of parts), any block.
//
// | version | what | time |
// |---|---|---|
// | 1 | a thread a pair | not measured |
#include "rope.cuh"
#include "step.cuh"

KERNEL(rope)(const Step *step, float *x, const float *table, int width, int head_dim, int half, float scale) {
  wait_for_previous();
  int token = blockIdx.x;
  if (token >= step->tokens) return;
  x += int64_t(token) * width;
  table += int64_t(step->token_position[token]) * half * 2;
  int pairs = width / head_dim * half;
  for (int i = blockIdx.y * blockDim.x + threadIdx.x; i < pairs; i += gridDim.y * blockDim.x) {
    int head = i / half, j = i % half;
    rotate(x + int64_t(head) * head_dim, table, j, half, scale);
  }
}
REGISTER(rope);
