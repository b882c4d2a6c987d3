// matrix.cc: see matrix.h.
#include "matrix.h"

#include "machine.h"
#include "memory.h"
#include "race.h"

#include <string.h>

namespace emu {
namespace {

void need_all(const char *what, uint32_t mask) {
  if (mask != 0xffffffffu) fail("%s needs all 32 lanes of the warp; only those of %08x have not exited", what, mask);
}

} // namespace

template <int matrices, bool transposed> void load_matrices(Warp &w, uint32_t mask) {
  need_all("ldmatrix", mask);
  uint16_t m[matrices][8][8];
  for (int i = 0; i < matrices * 8; i++) {
    const void *row = ((Rows *)w.args[i])->row;
    if (!in_shared(row, 16) || (uintptr_t)row % 16)
      fail("ldmatrix: row %d at %p is not in shared memory or not a multiple of 16", i, row);
    if constexpr (race::on) race::access_of(*w.thread[i], row, 16, race::read);
    memcpy(m[i / 8][i % 8], row, 16);
  }
  for (int l = 0; l < 32; l++) {
    uint32_t *out = ((Rows *)w.args[l])->out;
    int g = l / 4, t = l % 4 * 2;
    for (int i = 0; i < matrices; i++)
      out[i] = transposed ? m[i][t][g] | (uint32_t)m[i][t + 1][g] << 16 : m[i][g][t] | (uint32_t)m[i][g][t + 1] << 16;
  }
}

template void load_matrices<1, false>(Warp &, uint32_t);
template void load_matrices<2, false>(Warp &, uint32_t);
template void load_matrices<4, false>(Warp &, uint32_t);
template void load_matrices<1, true>(Warp &, uint32_t);
template void load_matrices<2, true>(Warp &, uint32_t);
template void load_matrices<4, true>(Warp &, uint32_t);

template <Half half> void multiply(Warp &w, uint32_t mask) {
  need_all("mma", mask);
  uint16_t a[16][16], b[8][16]; // b by columns
  float c[16][8];
  for (int l = 0; l < 32; l++) {
    const Fragment &f = *(Fragment *)w.args[l];
    int g = l / 4, t = l % 4 * 2;
    memcpy(&a[g][t], &f.a[0], 4);
    memcpy(&a[g + 8][t], &f.a[1], 4);
    memcpy(&a[g][t + 8], &f.a[2], 4);
    memcpy(&a[g + 8][t + 8], &f.a[3], 4);
    memcpy(&b[g][t], &f.b[0], 4);
    memcpy(&b[g][t + 8], &f.b[1], 4);
    memcpy(&c[g][t], &f.c[0], 8);
    memcpy(&c[g + 8][t], &f.c[2], 8);
  }
  dot_tile(half, a[0], 16, b[0], 8, c[0], 8);
  for (int l = 0; l < 32; l++) {
    const Fragment &f = *(Fragment *)w.args[l];
    int g = l / 4, t = l % 4 * 2;
    memcpy(&f.c[0], &c[g][t], 8);
    memcpy(&f.c[2], &c[g + 8][t], 8);
  }
}

template void multiply<Half::bf16>(Warp &, uint32_t);
template void multiply<Half::f16>(Warp &, uint32_t);

} // namespace emu
