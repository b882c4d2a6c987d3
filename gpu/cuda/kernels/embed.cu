// embed: out[t] = table[id of token t], widened to float32.
//
// Shapes: table [vocab][width], out [tokens][width].
// Order of sums: none.
// Launch: grid (rows, any number of parts of the width), any block.
//
// A token whose id is -1 is the last one sampled for its row, which never left the device. An id outside the
// vocabulary (nothing could be sampled) reads token 0: the row's results are not used.
//
// | version | what | time |
// |---|---|---|
// | 1 | one block a row, threads along the width | not measured |
#include "numeric.cuh"
#include "step.cuh"

DEVICE int32_t id_of(const Step *step, int token) {
  int32_t id = step->token_id[token];
  if (id < 0) id = step->sampled[step->token_row[token]];
  return uint32_t(id) < uint32_t(step->vocab) ? id : 0;
}

template <class T>
DEVICE void embed(const Step *step, const T *table, float *out, int width) {
  int token = blockIdx.x;
  if (token >= step->tokens) return;
  const T *from = table + int64_t(id_of(step, token)) * width;
  float *to = out + int64_t(token) * width;
  for (int i = blockIdx.y * blockDim.x + threadIdx.x; i < width; i += gridDim.y * blockDim.x) to[i] = widen(from[i]);
}

#define EMBED(type)                                                                         \
  KERNEL(embed_##type)(const Step *step, const type *table, float *out, int width) {        \
    wait_for_previous();                                                                    \
    embed(step, table, out, width);                                                         \
  }                                                                                         \
  REGISTER(embed_##type);
EMBED(f32)
EMBED(f16)
EMBED(bf16)
