// Products of warpgroups: layouts of operands, lateness, and errors.
#include "test.h"

#include <string.h>

using emu::Half;

// Operands are put into shared memory by formulas of their own: the canonical
// layouts as units of 16 bytes (8 elements) and the XOR of units by rows.
enum Layout { plain, span32, span64, span128 };

// unit_at is the byte of the unit that has elements (r, k..k+7), or for a turned
// matrix (r..r+7, k). rows is the number of rows stored.
DEVICE unsigned unit_at(int layout, bool turned, unsigned r, unsigned k, unsigned rows) {
  unsigned span = layout == plain ? 16 : 16u << layout, units = span / 16;
  if (!turned) {
    if (layout == plain) return (k / 8) * rows * 16 + r * 16; // columns of units
    unsigned unit = k / 8, line = r * span / 128;
    return r * span + (unit ^ (line % units)) * 16;
  }
  if (layout == plain) return (r / 8) * 16 * 16 + k * 16; // groups of 8 rows, with 16 k each
  unsigned wide = span / 2, group = r / wide, unit = r % wide / 8;
  unsigned start = group * 16 * span, line = k * span / 128;
  return start + k * span + (unit ^ (line % units)) * 16;
}

DEVICE void store_operand(unsigned char *to, const uint16_t *from, int layout, bool turned, unsigned rows) {
  for (unsigned i = threadIdx.x; i < rows * 16; i += blockDim.x) {
    unsigned r = i / 16, k = i % 16;
    unsigned at = unit_at(layout, turned, r, k, rows) + (turned ? r % 8 : k % 8) * 2;
    memcpy(to + at, from + i, 2);
  }
}

DEVICE uint64_t describe(const unsigned char *p, int layout, bool turned, unsigned rows) {
  unsigned span = layout == plain ? 16 : 16u << layout;
  if (layout == plain) return turned ? wgmma_matrix(p, 128, 256, 0) : wgmma_matrix(p, rows * 16, 128, 0);
  return turned ? wgmma_matrix(p, 16 * span, 8 * span, span) : wgmma_matrix(p, 0, 8 * span, span);
}

// mistake: what a broken kernel leaves out.
enum Mistake { none, no_fence, no_wait, no_commit, no_proxy, touch, touch_operand, no_second_fence, other_warps };

template <int R> DEVICE void group(const uint16_t *a, const uint16_t *b, float *c, int layout, int turned, int registers, int f16, int mistake) {
  DYNAMIC_SHARED(raw);
  unsigned char *sa = (unsigned char *)(((uintptr_t)raw + 1023) & ~(uintptr_t)1023), *sb = sa + 32768;
  const unsigned n = 2 * R, t = threadIdx.x, w = t / 32, g = t % 32 / 4, p = t % 4 * 2;
  store_operand(sa, a, layout, turned & 1, 64);
  store_operand(sb, b, layout, turned & 2, n);
  if (mistake != no_proxy) fence_proxy_async();
  __syncthreads();
  if (mistake == other_warps && w == 2) return;
  float d[R];
  for (unsigned j = 0; j < n / 8; j++)
    for (unsigned h = 0; h < 2; h++)
      for (unsigned e = 0; e < 2; e++) d[j * 4 + h * 2 + e] = c[(w * 16 + g + 8 * h) * n + j * 8 + p + e];
  uint32_t fa[4];
  for (unsigned i = 0; i < 4; i++) memcpy(&fa[i], &a[(w * 16 + g + (i & 1) * 8) * 16 + p + (i >> 1) * 8], 4);
  uint64_t da = describe(sa, layout, turned & 1, 64), db = describe(sb, layout, turned & 2, n);
  for (int round = 0; round < 2; round++) {
    if (mistake != no_fence && !(round && mistake == no_second_fence)) wgmma_fence();
    for (int twice = 0; twice < 2; twice++) {
      if (registers && f16) wgmma_f16(d, fa, db, true, turned & 2);
      if (registers && !f16) wgmma_bf16(d, fa, db, true, turned & 2);
      if (!registers && f16) wgmma_f16(d, da, db, true, turned & 1, turned & 2);
      if (!registers && !f16) wgmma_bf16(d, da, db, true, turned & 1, turned & 2);
    }
    if (mistake != no_commit) wgmma_commit();
    if (mistake == touch) d[0] += 1;
    if (mistake == touch_operand) fa[0] = 0;
    if (mistake != no_wait) wgmma_wait<0>();
    d[1] += 1; // needs the next fence
  }
  for (unsigned j = 0; j < n / 8; j++)
    for (unsigned h = 0; h < 2; h++)
      for (unsigned e = 0; e < 2; e++) c[(w * 16 + g + 8 * h) * n + j * 8 + p + e] = d[j * 4 + h * 2 + e];
}
#define GROUP(name, n)                                                                                                     \
  KERNEL(name)(const uint16_t *a, const uint16_t *b, float *c, int layout, int turned, int registers, int f16, int mistake) { \
    group<n / 2>(a, b, c, layout, turned, registers, f16, mistake);                                                        \
  }                                                                                                                        \
  REGISTER(name)
GROUP(group8, 8);
GROUP(group64, 64);
GROUP(group136, 136);
GROUP(group256, 256);

static uint16_t some_half(int f16) {
  float f = ((float)(random_bits() % 2001) - 1000) / 256;
  return f16 ? to_f16(f) : to_bf16(f);
}

static std::string try_group(unsigned n, int layout, int turned, int registers, int f16, int mistake, uint64_t seed, bool *right) {
  std::vector<uint16_t> a(64 * 16), b(n * 16);
  std::vector<float> c(64 * n);
  for (auto &x : a) x = some_half(f16);
  for (auto &x : b) x = some_half(f16);
  for (auto &x : c) x = (float)(random_bits() % 1000) / 64;
  std::vector<float> got = c;
  std::string name = "group" + std::to_string(n);
  std::string e = start(name.c_str(), {1, 128, 80 << 10, seed, emu::early_by_seed(seed)}, (const uint16_t *)a.data(), (const uint16_t *)b.data(), got.data(), layout,
                        turned, registers, f16, mistake);
  *right = true;
  for (size_t i = 0; i < 64; i++)
    for (size_t j = 0; j < n; j++) {
      float want = c[i * n + j];
      for (int round = 0; round < 2; round++) {
        for (int twice = 0; twice < 2; twice++) want = emu::dot16(f16 ? Half::f16 : Half::bf16, &a[i * 16], &b[j * 16], want);
        if (i % 16 < 8 && j % 8 % 2 == 1 && j < 8) want += 1; // d[1] is row g, column 2t+1
      }
      *right &= __float_as_uint(want) == __float_as_uint(got[i * n + j]);
    }
  return e;
}

TEST(products_of_warpgroups) {
  for (unsigned n : {8u, 64u, 136u, 256u})
    for (int layout = plain; layout <= span128; layout++)
      for (int turned = 0; turned < 4; turned++)
        for (int registers = 0; registers < 2; registers++) {
          if (turned & 2 && layout && n % (8u << layout)) continue; // part of a group of rows
          bool right;
          std::string e = try_group(n, layout, registers ? turned & 2 : turned, registers, turned & 1, none, (uint64_t)(n + (unsigned)turned), &right);
          if (!e.empty() || !right) wrong("n %u, layout %d, turned %d, registers %d: %s", n, layout, turned, registers, e.c_str());
        }
}

TEST(mistakes_with_warpgroups) {
  const struct {
    int mistake;
    const char *word;
  } cases[] = {{no_fence, "wgmma.fence is missing before"}, {no_wait, "not waited for"}, {no_commit, "not waited for"},     {no_proxy, ""},
               {touch, "accumulator was written while"},    {touch_operand, "operand registers were written while"}, {no_second_fence, "wgmma.fence is missing after"}, {other_warps, "wgmma"}};
  for (auto &c : cases)
    for (uint64_t seed = 0; seed < 3; seed++) {
      bool right;
      std::string e = try_group(64, span128, 0, c.mistake == touch_operand, 0, c.mistake, seed, &right);
      if (c.word[0] ? e.find(c.word) == std::string::npos : right) wrong("mistake %d, seed %d: \"%s\", right %d", c.mistake, (int)seed, e.c_str(), right);
    }
  emu::architecture = 80;
  bool right;
  expect_error(try_group(64, span128, 0, 0, 0, none, 0, &right), {"compute capability 9.0"});
}
