// Tensor cores: arithmetic against a slow twin, and where fragments lie.
#include "test.h"

#include <string.h>

using emu::Half;

// The twin follows MMA-Sim's Python in floating point, but for zeros (emu/dot.cc): long
// double has 64 bits of mantissa and holds every product, every cut term and the sum of 17
// exactly.
namespace twin {

struct Parts {
  long double significand; // 1 <= |s| < 2, less for subnormals
  int exponent;
};

Parts parts(long double v, int lowest) {
  if (v == 0) return {0, -126};
  int e;
  long double s = frexpl(v, &e) * 2;
  e--;
  if (e < lowest) {
    s = ldexpl(s, e - lowest);
    e = lowest;
  }
  return {s, e};
}

float value(Half half, uint16_t h) { return half == Half::bf16 ? from_bf16(h) : from_f16(h); }

float sum(Half half, const uint16_t *a, const uint16_t *b, int n, float c, int bits) {
  double plain = c;
  for (int k = 0; k < n; k++) plain += (double)value(half, a[k]) * (double)value(half, b[k]);
  if (isnan(plain)) return __uint_as_float(0x7fffffff);
  if (isinf(plain)) return (float)plain;
  const int lowest = half == Half::bf16 ? -126 : -14;
  std::vector<Parts> terms{parts(c, -126)};
  for (int k = 0; k < n; k++) {
    Parts x = parts(value(half, a[k]), lowest), y = parts(value(half, b[k]), lowest);
    terms.push_back({x.significand * y.significand, x.exponent + y.exponent});
  }
  int top = terms[0].exponent;
  for (const Parts &t : terms)
    if (t.significand != 0) top = std::max(top, t.exponent);
  long double total = 0;
  for (const Parts &t : terms) total += truncl(ldexpl(t.significand, bits + t.exponent - top));
  Parts r = parts(ldexpl(total, top - bits), -126);
  long double cut = ldexpl(truncl(ldexpl(r.significand, 23)), r.exponent - 23);
  if (cut == 0) return 0;
  if (fabsl(cut) >= 0x1p128L) return cut > 0 ? (float)INFINITY : -(float)INFINITY;
  return (float)cut;
}

float dot(Half half, const uint16_t *a, const uint16_t *b, float c) {
  if (emu::architecture >= 90) return sum(half, a, b, 16, c, 25);
  return sum(half, a + 8, b + 8, 8, sum(half, a, b, 8, c, 24), 24);
}

} // namespace twin

static uint32_t bits(float f) { return __float_as_uint(f); }

static void compare(Half half, const uint16_t *a, int rows, const uint16_t *b, int columns, const float *c, const char *what) {
  std::vector<float> got(c, c + rows * columns);
  emu::dot_tile(half, a, rows, b, columns, got.data(), columns);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      float want = twin::dot(half, a + 16 * i, b + 16 * j, c[i * columns + j]), one = emu::dot16(half, a + 16 * i, b + 16 * j, c[i * columns + j]);
      float tile = got[(size_t)(i * columns + j)];
      if (bits(want) != bits(tile) || bits(want) != bits(one))
        wrong("%s, %s, %d: %08x from the tile, %08x alone, %08x from the twin; c %08x", half == Half::bf16 ? "bf16" : "f16", what, emu::architecture,
              bits(tile), bits(one), bits(want), bits(c[i * columns + j]));
    }
}

static float random_float(int from, int to) { // exponents [from, to]
  int e = from + (int)(random_bits() % (unsigned)(to - from + 1));
  return ldexpf(1 + (float)(random_bits() & 0x7fffff) * 0x1p-23f, e) * (random_bits() & 1 ? -1.f : 1.f);
}
static uint16_t half_of(Half half, float f) { return half == Half::bf16 ? to_bf16(f) : to_f16(f); }

TEST(products_equal_the_twin) {
  for (int architecture : {90, 80})
    for (Half half : {Half::bf16, Half::f16}) {
      emu::architecture = architecture;
      const int widest = half == Half::bf16 ? 126 : 15, lowest = half == Half::bf16 ? -133 : -24;
      const uint16_t infinity = half == Half::bf16 ? 0x7f80 : 0x7c00;
      for (int round = 0; round < 400; round++) {
        uint16_t a[16 * 16], b[8 * 16];
        float c[16 * 8];
        int kind = round % 8;
        int span = kind == 0 ? 2 : kind == 1 ? 12 : widest;
        auto fill = [&](uint16_t &x) {
          switch (kind) {
          case 0: case 1: case 2: x = half_of(half, random_float(-span, span / 2)); break;
          case 3: x = random_bits() % 3 ? 0x8000 * (random_bits() & 1) : half_of(half, random_float(-8, 8)); break; // mostly zeros
          case 4: x = half_of(half, random_float(lowest, lowest + 10)); break;                                      // subnormals
          case 5: // any bits but NaN and infinity
            do x = (uint16_t)random_bits();
            while ((x & infinity) == infinity);
            break;
          case 6: x = (uint16_t)random_bits(); break; // any bits
          case 7: x = half_of(half, random_float(-2, 2)); break;
          }
        };
        for (auto &x : a) fill(x);
        for (auto &x : b) fill(x);
        if (kind == 7) // cancellation: the second half of k is the first, negated
          for (int i = 0; i < 16; i++)
            for (int k = 0; k < 8; k++) {
              a[i * 16 + k + 8] = a[i * 16 + k] ^ 0x8000;
              if (i < 8) b[i * 16 + k + 8] = (uint16_t)(b[i * 16 + k] + (random_bits() % 8 == 0));
            }
        if (round % 16 >= 8) // whole rows and columns of zeros
          for (int k = 0; k < 16; k++) a[(round % 16) * 16 + k] = b[(round % 8) * 16 + k] = 0;
        for (auto &x : c) {
          switch (random_bits() % 6) {
          case 0: x = 0; break;
          case 1: x = -0.f; break;
          case 2: x = random_float(-149, -120); break;
          case 3: x = random_float(-126, 127); break;
          default: x = random_float(-10, 10); break;
          }
          if (kind == 6 && random_bits() % 8 == 0) x = __uint_as_float((uint32_t)random_bits());
        }
        compare(half, a, 16, b, 8, c, "random");
      }
    }
}

// Every pair of special values, with a second product that is small, equal, or
// opposite, and many accumulators.
TEST(products_of_special_values) {
  for (int architecture : {90, 80})
    for (Half half : {Half::bf16, Half::f16}) {
      emu::architecture = architecture;
      std::vector<uint16_t> special;
      for (uint16_t s : {0, 0x8000})
        for (uint16_t v : half == Half::bf16 ? std::vector<uint16_t>{0, 1, 0x7f, 0x80, 0x81, 0x3f80, 0x3f81, 0x4049, 0x7f7f, 0x7f80, 0x7fc0, 0x7f81, 0x0400, 0x7e80}
                                             : std::vector<uint16_t>{0, 1, 0x3ff, 0x400, 0x401, 0x3c00, 0x3c01, 0x4248, 0x7bff, 0x7c00, 0x7e00, 0x7c01, 0x0800, 0x7800})
          special.push_back(s | v);
      std::vector<float> starts;
      for (uint32_t u : {0u, 0x80000000u, 1u, 0x80000001u, 0x7fffffu, 0x800000u, 0x3f800000u, 0xbf800000u, 0x3f7fffffu, 0x34000000u, 0xb3ffffffu, 0x7f7fffffu,
                         0xff7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x33800001u, 0x4b7fffffu})
        starts.push_back(__uint_as_float(u));
      uint16_t one = half_of(half, 1), tiny = half_of(half, 0x1p-14f);
      for (uint16_t x : special)
        for (uint16_t y : special)
          for (int second = 0; second < 3; second++) {
            uint16_t a[16] = {x}, b[8 * 16] = {};
            for (int j = 0; j < 8; j++) b[j * 16] = y;
            if (second) a[9] = second == 1 ? tiny : (uint16_t)(x ^ 0x8000);
            for (int j = 0; j < 8 && second; j++) b[j * 16 + 9] = second == 1 ? one : y;
            for (size_t i = 0; i + 6 <= starts.size(); i += 6) {
              float c[8] = {starts[i], starts[i + 1], starts[i + 2], starts[i + 3], starts[i + 4], starts[i + 5], 0, 1};
              compare(half, a, 1, b, 8, c, "special");
            }
          }
    }
}

// Known results, computed by hand.
TEST(products_by_hand) {
  uint16_t a[16] = {}, b[16] = {};
  auto check = [&](const char *what, float c, float hopper, float ampere) {
    for (int architecture : {90, 80}) {
      emu::architecture = architecture;
      float got = emu::dot16(Half::bf16, a, b, c), want = architecture == 90 ? hopper : ampere;
      if (bits(got) != bits(want)) wrong("%s, %d: %a instead of %a", what, architecture, (double)got, (double)want);
    }
  };
  for (int k = 0; k < 16; k++) a[k] = b[k] = to_bf16(1);
  check("sum of ones", 0, 16, 16);
  // 2^-25 is the last bit that Hopper keeps beside 1; sixteen of them in the cut
  // sum are 2^-21, of which 2^-21 stays in the result. Ampere cuts each of them.
  for (int k = 0; k < 16; k++) {
    a[k] = to_bf16(0x1p-13f);
    b[k] = to_bf16(0x1p-12f);
  }
  check("small products beside a large accumulator", 1, 1 + 0x1p-21f, 1);
  // The result is cut, not rounded: 1 + 2^-24 + 2^-25 stays 1.
  for (int k = 0; k < 16; k++) a[k] = 0;
  a[0] = to_bf16(0x1.8p-24f);
  b[0] = to_bf16(1);
  check("cut towards zero", 1, 1, 1);
  // 1 - 3 2^-25 is cut to 1 - 2^-23; Ampere cuts the product first, to 2^-24.
  check("cut towards zero, negative", -1, -1 + 0x1p-23f, -1 + 0x1p-24f);
  // The order of the halves matters on Ampere only.
  for (int k = 0; k < 16; k++) a[k] = b[k] = 0;
  a[0] = to_bf16(0x1p30f), b[0] = to_bf16(1), a[8] = to_bf16(-0x1p30f), b[8] = to_bf16(1), a[9] = to_bf16(3), b[9] = to_bf16(1);
  check("cancellation across halves", 0, 0, 3 - 3);
  a[9] = to_bf16(64);
  check("cancellation across halves keeps what the grid keeps", 0, 64, 64);
}

KERNEL(product)(const uint16_t *a, const uint16_t *b, float *c, int f16) {
  unsigned l = threadIdx.x % 32, g = l / 4, t = l % 4;
  a += threadIdx.x / 32 * 256;
  b += threadIdx.x / 32 * 128;
  c += threadIdx.x / 32 * 128;
  uint32_t fa[4], fb[2];
  float fc[4];
  // Row and column of each element as the PTX ISA's formulas give them.
  auto put = [](uint32_t (&r)[4], unsigned i, uint16_t v) { r[i / 2] = i % 2 ? (r[i / 2] & 0xffff) | (uint32_t)v << 16 : v; };
  for (unsigned i = 0; i < 8; i++) {
    unsigned row = i < 2 || (i >= 4 && i < 6) ? g : g + 8, column = t * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    put(fa, i, a[row * 16 + column]);
  }
  uint32_t tmp[4];
  for (unsigned i = 0; i < 4; i++) put(tmp, i, b[g * 16 + t * 2 + (i & 1) + (i >= 2 ? 8 : 0)]); // b by columns
  fb[0] = tmp[0];
  fb[1] = tmp[1];
  for (unsigned i = 0; i < 4; i++) fc[i] = c[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)];
  if (f16)
    mma_f16(fc, fa, fb);
  else
    mma_bf16(fc, fa, fb[0], fb[1]);
  for (unsigned i = 0; i < 4; i++) c[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = fc[i];
}
REGISTER(product);

TEST(fragments_of_products) {
  for (int f16 = 0; f16 < 2; f16++) {
    Half half = f16 ? Half::f16 : Half::bf16;
    std::vector<uint16_t> a(256 * 3), b(128 * 3);
    std::vector<float> c(128 * 3);
    for (auto &x : a) x = half_of(half, random_float(-3, 3));
    for (auto &x : b) x = half_of(half, random_float(-3, 3));
    for (auto &x : c) x = random_float(-3, 3);
    std::vector<float> out = c;
    run("product", {1, 96, 0, 7}, a.data(), b.data(), out.data(), f16);
    for (size_t w = 0; w < 3; w++)
      for (size_t i = 0; i < 16; i++)
        for (size_t j = 0; j < 8; j++) {
          size_t at = w * 128 + i * 8 + j;
          if (bits(out[at]) != bits(twin::dot(half, &a[w * 256 + i * 16], &b[w * 128 + j * 16], c[at]))) wrong("warp %zu, %zu, %zu", w, i, j);
        }
  }
}

template <int N, bool turned> DEVICE void load_matrices(uint32_t *out) {
  SHARED(uint16_t, all, [32][24]); // 48 bytes a row, so that rows are not next to each other
  for (unsigned i = 0; i < 8; i++) all[threadIdx.x][i] = (uint16_t)(threadIdx.x * 8 + i);
  __syncwarp();
  uint32_t r[N];
  unsigned row = threadIdx.x ^ 9; // any order of rows
  if constexpr (N == 1 && !turned) ldmatrix_x1(r, all[row]);
  if constexpr (N == 2 && !turned) ldmatrix_x2(r, all[row]);
  if constexpr (N == 4 && !turned) ldmatrix_x4(r, all[row]);
  if constexpr (N == 1 && turned) ldmatrix_x1_trans(r, all[row]);
  if constexpr (N == 2 && turned) ldmatrix_x2_trans(r, all[row]);
  if constexpr (N == 4 && turned) ldmatrix_x4_trans(r, all[row]);
  for (int i = 0; i < N; i++) out[threadIdx.x * N + (unsigned)i] = r[i];
}
#define LOAD(name, n, turned)                                  \
  KERNEL(name)(uint32_t * out) { load_matrices<n, turned>(out); } \
  REGISTER(name)
LOAD(load1, 1, false);
LOAD(load2, 2, false);
LOAD(load4, 4, false);
LOAD(load1t, 1, true);
LOAD(load2t, 2, true);
LOAD(load4t, 4, true);

TEST(fragments_of_ldmatrix) {
  const struct {
    const char *name;
    unsigned n;
    bool turned;
  } cases[] = {{"load1", 1, false}, {"load2", 2, false}, {"load4", 4, false}, {"load1t", 1, true}, {"load2t", 2, true}, {"load4t", 4, true}};
  for (auto &c : cases) {
    std::vector<uint32_t> out(32 * c.n);
    run(c.name, {}, out.data());
    for (unsigned l = 0; l < 32; l++)
      for (unsigned m = 0; m < c.n; m++) {
        auto element = [&](unsigned row, unsigned column) { return ((m * 8 + row) ^ 9) * 8 + column; };
        unsigned r = l / 4, k = l % 4 * 2;
        unsigned want = c.turned ? element(k, r) | element(k + 1, r) << 16 : element(r, k) | element(r, k + 1) << 16;
        if (out[l * c.n + m] != want) wrong("%s lane %u matrix %u: %08x instead of %08x", c.name, l, m, out[l * c.n + m], want);
      }
  }
}

KERNEL(load_wrong)(int how) {
  DYNAMIC_SHARED(s);
  uint32_t r[4], own[4] = {};
  ldmatrix_x4(r, how ? (const void *)(s + 8) : (const void *)own);
}
REGISTER(load_wrong);

TEST(errors_of_ldmatrix) {
  for (int how : {0, 1}) expect_error(start("load_wrong", {1, 32, 1024}, how), {"kernel load_wrong", "ldmatrix", "not in shared memory or not a multiple of 16"});
}

TEST(conversions) {
  for (uint32_t h = 0; h < 65536; h++) {
    uint16_t x = (uint16_t)h;
    float f = from_f16(x), b = from_bf16(x);
    if (!isnan(f) && to_f16(f) != x) wrong("f16 %04x", h);
    if (!isnan(b) && to_bf16(b) != x) wrong("bf16 %04x", h);
    if (isnan(f) != isnan(from_f16(to_f16(f))) || isnan(b) != isnan(from_bf16(to_bf16(b)))) wrong("NaN %04x", h);
    if (h % 0x400 == 0x3ff || h == 0) continue;
    // Between neighbours: ties to even, else to the nearer one.
    float low = from_f16((uint16_t)(h - 1)), mid = (low + f) / 2;
    if ((h & 0x7fff) && (h & 0x7fff) < 0x7c00 && to_f16(mid) != (h & 1 ? h - 1 : h)) wrong("f16 tie below %04x: %04x", h, to_f16(mid));
    if ((h & 0x7fff) && (h & 0x7fff) < 0x7c00 && to_f16(nextafterf(mid, f)) != h) wrong("f16 above the tie below %04x", h);
  }
  if (to_f16(65520) != 0x7c00 || to_f16(65519.996f) != 0x7bff || to_bf16(3.4e38f) != 0x7f80) wrong("overflow");
}
