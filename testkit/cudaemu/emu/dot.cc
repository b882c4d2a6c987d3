// dot.cc: what a tensor core computes, bit for bit.
//
// The model is MMA-Sim's (arXiv 2511.10909), which its authors compared with
// hardware. For bf16 and f16 with a float32 accumulator:
//   - Each factor is a significand times 2^exponent. Subnormals count: they
//     have the type's lowest exponent and a significand below one.
//   - 16 products (exponents added, significands multiplied) and c are aligned
//     to the largest exponent of those that are not zero, and cut to 25 fraction
//     bits, towards zero. (MMA-Sim gives a zero the exponent -126, so that a zero
//     times a large number could cut c. An H200 does not do that.)
//   - They are summed exactly, and the sum is cut to float32, towards zero;
//     subnormal results are kept, too large ones become infinite, and a sum of
//     zero is +0.
//   - That is Hopper and Blackwell. Ampere and Ada take two steps of 8 products
//     with 24 fraction bits; the first step's float32 is the c of the second.
//   - If the float64 sum of all products and c is NaN, the result is 0x7fffffff;
//     if it is infinite, so is the result. So infinity times zero, or infinities
//     of both signs, give NaN.
//
// Eight columns are computed at once with the vector extensions of gcc. The sum
// of 16 products fits 32 bits: 16 (2-2^-10)^2 2^25 < 2^31.
#include "machine.h"
#include "matrix.h"

#include <math.h>
#include <string.h>

namespace emu {
namespace {

typedef int32_t Ints __attribute__((vector_size(32)));
typedef int64_t Longs __attribute__((vector_size(64)));
typedef double Doubles __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(32)));

constexpr int columns_at_once = 8;

// Rules are a generation's number of fraction bits and products a step.
struct Rules {
  int bits, products;
};
Rules rules() { return architecture >= 90 ? Rules{25, 16} : Rules{24, 8}; }

struct Type {
  int mantissa, bias, top; // bits, exponent bias, exponent field of infinity
};
constexpr Type type_of(Half h) { return h == Half::bf16 ? Type{7, 127, 255} : Type{10, 15, 31}; }

// of_zero is an exponent that is never the largest, whatever is added to it.
constexpr int of_zero = -1000;

// split gives |h| = significand 2^(exponent - mantissa bits).
inline void split(Half half, uint16_t h, int &significand, int &exponent, bool &special) {
  const Type t = type_of(half);
  int field = h >> t.mantissa & t.top, low = h & ((1 << t.mantissa) - 1);
  special = field == t.top;
  significand = field ? low | 1 << t.mantissa : low;
  exponent = significand ? (field ? field : 1) - t.bias : of_zero;
}

// split_float does the same for c, with 23 mantissa bits.
inline void split_float(float c, int &significand, int &exponent) {
  uint32_t u;
  memcpy(&u, &c, 4);
  int field = (int)(u >> 23 & 255), low = (int)(u & 0x7fffff);
  significand = field ? low | 1 << 23 : low;
  exponent = significand ? (field ? field : 1) - 127 : -126;
}

double widen(Half half, uint16_t h) {
  const Type t = type_of(half);
  int significand, exponent;
  bool special;
  split(half, h, significand, exponent, special);
  double v = special ? (significand & ((1 << t.mantissa) - 1) ? (double)NAN : (double)INFINITY)
                     : ldexp(significand, exponent - t.mantissa);
  return h & 0x8000 ? -v : v;
}

// cut_to_float rounds the exact sum g 2^scale towards zero.
float cut_to_float(int64_t g, int scale) {
  uint64_t a = g < 0 ? (uint64_t)-g : (uint64_t)g;
  if (!a) return 0;
  int top = 63 - __builtin_clzll(a), drop = top - 23;
  if (scale + drop < -149) drop = -149 - scale; // the grid of subnormals
  if (drop > 0) a = drop > 63 ? 0 : a >> drop << drop;
  if (!a) return 0; // +0
  float f = (float)ldexp((double)a, scale);
  return g < 0 ? -f : f;
}

// step is one step of n products in plain integers.
float step(Half half, const uint16_t *a, const uint16_t *b, int n, float c, int bits) {
  const int fraction = 2 * type_of(half).mantissa;
  double all = c;
  bool special = !isfinite(c);
  int exponents[16], significands[16], top, sc;
  split_float(c, sc, top);
  int ec = top;
  for (int k = 0; k < n; k++) {
    int sa, ea, sb, eb;
    bool xa, xb;
    split(half, a[k], sa, ea, xa);
    split(half, b[k], sb, eb, xb);
    special |= xa || xb;
    significands[k] = sa * sb;
    exponents[k] = ea + eb;
    if (exponents[k] > top) top = exponents[k];
  }
  if (special) {
    for (int k = 0; k < n; k++) all += widen(half, a[k]) * widen(half, b[k]);
    uint32_t nan = 0x7fffffff;
    float f;
    memcpy(&f, &nan, 4);
    return isnan(all) ? f : (float)all;
  }
  int64_t sum = 0;
  for (int k = 0; k < n; k++) {
    int shift = top - exponents[k];
    int64_t v = shift > 62 ? 0 : ((int64_t)significands[k] << (bits - fraction)) >> shift;
    sum += (a[k] ^ b[k]) & 0x8000 ? -v : v;
  }
  int shift = top - ec;
  int64_t v = shift > 62 ? 0 : ((int64_t)sc << (bits - 23)) >> shift;
  sum += signbit(c) ? -v : v;
  return cut_to_float(sum, top - bits);
}

inline Ints larger(Ints a, Ints b) { return a > b ? a : b; }
inline Ints smaller(Ints a, Ints b) { return a < b ? a : b; }

// Eight is eight numbers, split: |h| = significand 2^(exponent - mantissa bits),
// sign 0 or -1.
struct Eight {
  Ints significand, exponent, sign;
};

// split_eight also gathers what is not zero, and the largest exponent field, which
// shows NaN and infinity.
inline Eight split_eight(Half half, const uint16_t *h, Ints &any, Ints &fields) {
  typedef uint16_t Shorts __attribute__((vector_size(16)));
  const Type t = type_of(half);
  Shorts short_;
  memcpy(&short_, h, sizeof short_);
  Ints v = __builtin_convertvector(short_, Ints);
  Ints field = v >> t.mantissa & t.top, low = v & ((1 << t.mantissa) - 1);
  Ints normal = field != 0; // -1 where true
  Eight r;
  r.significand = low | (normal & 1 << t.mantissa);
  r.exponent = field - t.bias + (1 & ~normal);
  r.exponent = r.significand != 0 ? r.exponent : Ints{} + of_zero;
  r.sign = -(v >> 15);
  any |= r.significand;
  fields = larger(fields, field);
  return r;
}

inline int largest(Ints v) {
  int m = v[0];
  for (int i = 1; i < columns_at_once; i++) m = v[i] > m ? v[i] : m;
  return m;
}
inline bool nonzero(Ints v) {
#ifdef __AVX2__
  typedef long long Wide __attribute__((vector_size(32)));
  return !__builtin_ia32_ptestz256((Wide)v, (Wide)v);
#else
  int m = 0;
  for (int i = 0; i < columns_at_once; i++) m |= v[i];
  return m != 0;
#endif
}

// Panel is 8 columns of b, split, k by k.
struct Panel {
  Eight k[16];
  Ints any;     // not zero for columns that are not zero
  bool zero;    // all of it
  bool special; // some NaN or infinity
};

void fill(Panel &p, Half half, const uint16_t *b, int shift) {
  uint16_t turned[16][columns_at_once];
  for (int j = 0; j < columns_at_once; j++)
    for (int k = 0; k < 16; k++) turned[k][j] = b[j * 16 + k];
  Ints any = {}, fields = {};
  for (int k = 0; k < 16; k++) {
    p.k[k] = split_eight(half, turned[k], any, fields);
    p.k[k].significand <<= shift; // so that a product has the wanted fraction bits
  }
  p.any = any;
  p.zero = !nonzero(any);
  p.special = largest(fields) == type_of(half).top;
}

// Row is one row of a.
struct Row {
  int significand[16], exponent[16], sign[16];
  bool zero, special;
};

void fill(Row &r, Half half, const uint16_t *a) {
  Ints any = {}, fields = {};
  for (int k = 0; k < 16; k += 8) {
    Eight e = split_eight(half, a + k, any, fields);
    memcpy(r.significand + k, &e.significand, sizeof(Ints));
    memcpy(r.exponent + k, &e.exponent, sizeof(Ints));
    memcpy(r.sign + k, &e.sign, sizeof(Ints));
  }
  r.zero = !nonzero(any);
  r.special = largest(fields) == type_of(half).top;
}

// advance adds products [from, to) of one row and eight columns to c. It returns
// false, and does nothing, if c is not finite or the result may be subnormal.
template <int from, int to, int bits> inline bool advance(const Row &r, const Panel &p, float *c) {
  Ints u;
  memcpy(&u, c, sizeof u);
  Ints field = u >> 23 & 255, low = u & 0x7fffff;
  Ints normal = field != 0; // -1 where true
  Ints sc = low | (normal & (1 << 23));
  Ints ec = field - 127 + (1 & ~normal);
  Ints top = ec;
  Ints exponent[16];
#pragma GCC unroll 16
  for (int k = from; k < to; k++) {
    exponent[k] = p.k[k].exponent + r.exponent[k];
    top = larger(top, exponent[k]);
  }
  Ints something = (p.any | sc) != 0;
  if (__builtin_expect(nonzero((field == 255) | ((top < bits - 126) & something)), 0)) return false;
  Ints sum = {};
#pragma GCC unroll 16
  for (int k = from; k < to; k++) {
    Ints shift = smaller(top - exponent[k], Ints{} + 31);
    Ints v = (p.k[k].significand * r.significand[k]) >> shift; // not negative
    Ints sign = p.k[k].sign ^ r.sign[k];
    sum += (v ^ sign) - sign;
  }
  Ints own = (sc << (bits - 23)) >> smaller(top - ec, Ints{} + 31), sign = u >> 31;
  own = (own ^ sign) - sign;
  // The sum has at most 33 bits, so float64 holds it exactly; cutting its
  // mantissa to 23 bits is the rounding towards zero.
  Doubles exact = __builtin_convertvector(sum, Doubles) + __builtin_convertvector(own, Doubles);
  Longs power = __builtin_convertvector(top + (1023 - bits), Longs) << 52;
  Longs word = (Longs)(exact * (Doubles)power) & ~((int64_t)0x1fffffff);
  Floats out = __builtin_convertvector((Doubles)word, Floats) + Floats{}; // -0 to +0
  memcpy(c, &out, sizeof out);
  return true;
}

// plainly does one step for eight columns without vectors.
void plainly(Half half, const uint16_t *a, const uint16_t *b, int n, float *c, int bits) {
  for (int l = 0; l < columns_at_once; l++) c[l] = step(half, a, b + l * 16, n, c[l], bits);
}

// unchanged says whether adding only zeros leaves c as it is: no c is -0 or NaN.
bool unchanged(const float *c) {
  for (int j = 0; j < columns_at_once; j++) {
    uint32_t u;
    memcpy(&u, c + j, 4);
    if (u == 0x80000000 || (u & 0x7fffffff) > 0x7f800000) return false;
  }
  return true;
}

} // namespace

float dot16(Half half, const uint16_t *a, const uint16_t *b, float c) {
  Rules r = rules();
  for (int k = 0; k < 16; k += r.products) c = step(half, a + k, b + k, r.products, c, r.bits);
  return c;
}

void dot_tile(Half half, const uint16_t *a, int rows, const uint16_t *b, int columns, float *c, int stride) {
  const Rules rule = rules();
  const int shift = rule.bits - 2 * type_of(half).mantissa;
  Panel p;
  Row r[64];
  for (int i = 0; i < rows; i++) fill(r[i], half, a + i * 16);
  for (int j = 0; j < columns; j += columns_at_once) {
    const uint16_t *bj = b + j * 16;
    fill(p, half, bj, shift);
    for (int i = 0; i < rows; i++) {
      const uint16_t *ai = a + i * 16;
      float *cij = c + i * stride + j;
      if (r[i].special || p.special) {
        for (int l = 0; l < columns_at_once; l++) cij[l] = dot16(half, ai, bj + l * 16, cij[l]);
        continue;
      }
      if ((r[i].zero || p.zero) && unchanged(cij)) continue;
      if (rule.products == 16) {
        if (!advance<0, 16, 25>(r[i], p, cij)) plainly(half, ai, bj, 16, cij, 25);
      } else {
        if (!advance<0, 8, 24>(r[i], p, cij)) plainly(half, ai, bj, 8, cij, 24);
        if (!advance<8, 16, 24>(r[i], p, cij)) plainly(half, ai + 8, bj + 8, 8, cij, 24);
      }
    }
  }
}

} // namespace emu
