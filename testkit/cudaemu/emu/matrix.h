// matrix.h: ldmatrix and mma.m16n8k16 of a warp. (PTX ISA: "Warp-level matrix
// instructions".)
#pragma once

#include "thread.h"

#include <stdint.h>

namespace emu {

enum class Half { bf16, f16 };

// Rows: in, the address of the row of 8 halves that this lane names; out, the
// lane's two halves of each matrix.
struct Rows {
  const void *row;
  uint32_t *out; // [matrices]
};
template <int matrices, bool transposed> void load_matrices(Warp &w, uint32_t mask);

// Fragment: this lane's part of A [16][16], B [16][8] and C [16][8].
struct Fragment {
  const uint32_t *a; // [4]
  const uint32_t *b; // [2]
  float *c;          // [4], in and out
};
template <Half half> void multiply(Warp &w, uint32_t mask);

// dot_tile adds A B^T to C by the arithmetic of the tensor cores: a [rows][16],
// b [columns][16] in halves, c [rows][stride] in float32; columns is a multiple
// of 8. See dot.cc.
void dot_tile(Half half, const uint16_t *a, int rows, const uint16_t *b, int columns, float *c, int stride);
// dot16 is one element of it.
float dot16(Half half, const uint16_t *a, const uint16_t *b, float c);

template <int matrices, bool transposed> inline void load(const char *what, uint32_t *out, const void *row, Site site) {
  Rows r{row, out};
  collective(what, load_matrices<matrices, transposed>, &r, 0xffffffffu, site, true);
}
template <Half half> inline void mma(const char *what, float *c, const uint32_t *a, const uint32_t *b, Site site) {
  Fragment f{a, b, c};
  collective(what, multiply<half>, &f, 0xffffffffu, site, true);
}

} // namespace emu

// Lane 8i+r names row r of matrix i; lane l gets halves 2(l%4) and 2(l%4)+1 of
// row l/4 of each matrix, or of its transpose.
inline void ldmatrix_x1(uint32_t (&out)[1], const void *row, EMU_SITE) { ::emu::load<1, false>("ldmatrix.x1", out, row, EMU_HERE); }
inline void ldmatrix_x2(uint32_t (&out)[2], const void *row, EMU_SITE) { ::emu::load<2, false>("ldmatrix.x2", out, row, EMU_HERE); }
inline void ldmatrix_x4(uint32_t (&out)[4], const void *row, EMU_SITE) { ::emu::load<4, false>("ldmatrix.x4", out, row, EMU_HERE); }
inline void ldmatrix_x1_trans(uint32_t (&out)[1], const void *row, EMU_SITE) { ::emu::load<1, true>("ldmatrix.x1.trans", out, row, EMU_HERE); }
inline void ldmatrix_x2_trans(uint32_t (&out)[2], const void *row, EMU_SITE) { ::emu::load<2, true>("ldmatrix.x2.trans", out, row, EMU_HERE); }
inline void ldmatrix_x4_trans(uint32_t (&out)[4], const void *row, EMU_SITE) { ::emu::load<4, true>("ldmatrix.x4.trans", out, row, EMU_HERE); }

// c += a b, of which a lane l with g = l/4, t = l%4 holds
//   a: rows g, g+8, g, g+8 with columns 2t, 2t+1 (first two) and 2t+8, 2t+9
//   b: rows 2t, 2t+1 and 2t+8, 2t+9 of column g
//   c: row g columns 2t, 2t+1, row g+8 columns 2t, 2t+1
inline void mma_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], EMU_SITE) { ::emu::mma<::emu::Half::bf16>("mma.bf16", c, a, b, EMU_HERE); }
inline void mma_f16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], EMU_SITE) { ::emu::mma<::emu::Half::f16>("mma.f16", c, a, b, EMU_HERE); }
inline void mma_bf16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, EMU_SITE) {
  uint32_t b[2] = {b0, b1};
  ::emu::mma<::emu::Half::bf16>("mma.bf16", c, a, b, EMU_HERE);
}
inline void mma_f16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, EMU_SITE) {
  uint32_t b[2] = {b0, b1};
  ::emu::mma<::emu::Half::f16>("mma.f16", c, a, b, EMU_HERE);
}
