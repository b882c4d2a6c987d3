// The rotation of one pair of elements, for kernels that rotate.
#pragma once
#include "numeric.cuh"

// rotate turns elements j and j + half of a head: b sin is rounded, then a cos - (b sin) by FMA, then times scale.
// table is [half][2] with cos, sin of the token's position.
DEVICE void rotate(float *head, const float *table, int j, int half, float scale) {
  float cosine = table[2 * j], sine = table[2 * j + 1], a = head[j], b = head[j + half];
  head[j] = fmul(ffma(a, cosine, -fmul(b, sine)), scale);
  head[j + half] = fmul(ffma(b, cosine, fmul(a, sine)), scale);
}
