// Arithmetic that gives the same bits on every GPU and in the emulation: correctly rounded operations, conversions of
// 16-bit types as gpu/float16.go does them, and e^x. No fused operation that is not asked for, no approximation, no
// library of mathematics. Only the bits of a NaN may differ, never whether a result is one.
#pragma once
#include "portable.cuh"

DEVICE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
DEVICE uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }
DEVICE float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }
DEVICE double double_of(uint64_t bits) { return __builtin_bit_cast(double, bits); }

#ifndef TROUPE_EMULATION // which has all of this in arith.h
// Rounded once, to nearest, ties to even; subnormal numbers are kept.
DEVICE float fadd(float a, float b) { return __nvvm_add_rn_f(a, b); }
DEVICE float fsub(float a, float b) { return __nvvm_add_rn_f(a, -b); }
DEVICE float fmul(float a, float b) { return __nvvm_mul_rn_f(a, b); }
DEVICE float ffma(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
DEVICE float fdiv(float a, float b) { return __nvvm_div_rn_f(a, b); }
DEVICE float fsqrt(float a) { return __nvvm_sqrt_rn_f(a); }
DEVICE double dadd(double a, double b) { return __nvvm_add_rn_d(a, b); }
DEVICE double dsub(double a, double b) { return __nvvm_add_rn_d(a, -b); }
DEVICE double dmul(double a, double b) { return __nvvm_mul_rn_d(a, b); }
DEVICE double dfma(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
DEVICE double ddiv(double a, double b) { return __nvvm_div_rn_d(a, b); }

// from_bf16 and from_f16 are exact.
DEVICE float from_bf16(uint16_t h) { return float_of(uint32_t(h) << 16); }
DEVICE float from_f16(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, a = uint32_t(h & 0x7fff) << 13;
  uint32_t finite = bits_of(fmul(float_of(a), 0x1p112f)); // the exponent of a is 112 too small
  return float_of(sign | (a >= 0x7c00u << 13 ? 0x7f800000 | a : finite));
}
// to_bf16 and to_f16 go to the nearest, ties to even; NaN stays NaN, with the bits that package gpu gives it.
DEVICE uint16_t to_bf16(float x) {
  uint32_t b = bits_of(x);
  uint16_t h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return (b & 0x7fffffff) > 0x7f800000 ? uint16_t(b >> 16 | 0x40) : h;
}
DEVICE uint16_t to_f16(float x) {
  uint32_t b = bits_of(x);
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return (b & 0x7fffffff) > 0x7f800000 ? uint16_t((b >> 16 & 0x8000) | 0x7e00) : h;
}
// Both at once, the first one low. A NaN becomes any NaN.
DEVICE uint32_t pair_bf16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
DEVICE uint32_t pair_f16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
#endif

// The larger number; b if one of them is NaN or they are equal.
DEVICE float flarger(float a, float b) { return a > b ? a : b; }
// In one instruction each, with either zero of -0 and 0. One of them is NaN: fmaximum is the other, fmaximum_nan is NaN.
#ifdef TROUPE_EMULATION
DEVICE float fmaximum(float a, float b) { return a > b || b != b ? a : b; }
DEVICE float fmaximum_nan(float a, float b) { return a > b || a != a ? a : b; }
#else
DEVICE float fmaximum(float a, float b) { return __nvvm_fmax_f(a, b); }
DEVICE float fmaximum_nan(float a, float b) { return __nvvm_fmax_nan_f(a, b); }
#endif

constexpr float INFINITE = __builtin_inff();

// Elements of tensors. The 16-bit types are their bits, in types of their own so that templates tell them apart.
struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};
typedef float f32;
typedef int8_t i8;

// widen is exact.
DEVICE float widen(float x) { return x; }
DEVICE float widen(bf16 x) { return from_bf16(x.bits); }
DEVICE float widen(f16 x) { return from_f16(x.bits); }
DEVICE float widen(i8 x) { return float(x); }

// narrow is the conversion to a type that a template names.
template <class T>
DEVICE T narrow(float x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return x;
  } else if constexpr (__is_same(T, bf16)) {
    return bf16{to_bf16(x)};
  } else {
    return f16{to_f16(x)};
  }
}

// Four elements that lie together, as one load. Their address is a multiple of their size.
typedef float Four __attribute__((vector_size(16)));
typedef uint16_t FourHalves __attribute__((vector_size(8)));
typedef int8_t FourBytes __attribute__((vector_size(4)));
DEVICE Four widen4(const float *p) { return *(const Four *)p; }
DEVICE Four widen4(const bf16 *p) {
  FourHalves h = *(const FourHalves *)p;
  return Four{from_bf16(h[0]), from_bf16(h[1]), from_bf16(h[2]), from_bf16(h[3])};
}
DEVICE Four widen4(const f16 *p) {
  FourHalves h = *(const FourHalves *)p;
  return Four{from_f16(h[0]), from_f16(h[1]), from_f16(h[2]), from_f16(h[3])};
}
DEVICE Four widen4(const i8 *p) {
  FourBytes b = *(const FourBytes *)p;
  return Four{float(b[0]), float(b[1]), float(b[2]), float(b[3])};
}

// pack is two elements of 16 bits in a register, the first one low.
template <class T>
DEVICE uint32_t pack(float low, float high) { return narrow<T>(low).bits | uint32_t(narrow<T>(high).bits) << 16; }

// pack_factors is pack for what tensor cores multiply: which NaN a NaN becomes makes no difference there.
template <class T>
DEVICE uint32_t pack_factors(float low, float high) {
  if constexpr (__is_same(T, bf16)) return pair_bf16(low, high);
  return pair_f16(low, high);
}

// nearest_int rounds to an integer, ties to even, for |x| < 2^22: adding 3 x 2^22 leaves no bits for a fraction.
constexpr float FLOAT_ROUNDING = 12582912.0f;
DEVICE int nearest_int(float x) { return int(bits_of(fadd(x, FLOAT_ROUNDING)) - bits_of(FLOAT_ROUNDING)); }

// exp_polynomial is e^x / 2^n and t, whose low bits are n plus those of rounding.
DEVICE float exp_polynomial(float x, float rounding, float &t) {
  t = ffma(x, 1.44269504088896341f, rounding);
  float n = fsub(t, rounding);
  float r = ffma(n, -0.693359375f, x);
  r = ffma(n, 2.12194440e-4f, r);
  float p = ffma(1.9875691500e-4f, r, 1.3981999507e-3f);
  p = ffma(p, r, 8.3334519073e-3f);
  p = ffma(p, r, 4.1665795894e-2f);
  p = ffma(p, r, 1.6666665459e-1f);
  p = ffma(p, r, 5.0000001201e-1f);
  return fadd(ffma(p, fmul(r, r), r), 1.0f);
}

// exp_f32 is e^x within 1.02 units in the last place (all floats were tried against a double exp: see twin/numeric.cc).
// Method: x = n ln 2 + r with |r| <= ln 2 / 2 and ln 2 in two parts (Cody and Waite 1980), e^r by the polynomial of
// Cephes' expf (Moshier), times 2^n in two steps, so that subnormal results are rounded once. exp(0) is exactly 1,
// exp(-inf) is 0, exp(inf) is infinite, NaN stays NaN.
DEVICE float exp_f32(float x) {
  float t, p = exp_polynomial(x, FLOAT_ROUNDING, t);
  int k = int(bits_of(t) - bits_of(FLOAT_ROUNDING)), half = k >> 1; // of a NaN anything: p is NaN then
  p = fmul(fmul(p, float_of(uint32_t(half + 127) << 23)), float_of(uint32_t(k - half + 127) << 23));
  p = x > 89.0f ? INFINITE : p;
  return x < -104.0f ? 0.0f : p;
}

// exp_not_positive is exp_f32 for x <= 0 or NaN, with the same bits and fewer instructions: a factor 2^64 too large is
// made of n, and a multiplication by 2^-64 rounds subnormal results once.
DEVICE float exp_not_positive(float x) {
  float t, p = exp_polynomial(x, FLOAT_ROUNDING + 64 + 127, t);
  p = fmul(fmul(p, float_of(bits_of(t) << 23)), 0x1p-64f); // of a NaN the factor is 0 or infinite, and p stays one
  return x < -104.0f ? 0.0f : p;
}

// exp_number is the same for x <= 0, with still fewer instructions. Of a NaN it makes any number: a GPU's NaN is all
// ones, to whose exponent nothing can be added.
DEVICE float exp_number(float x) {
  float t, p = exp_polynomial(fmaximum(x, -104.0f), FLOAT_ROUNDING + 64, t); // which is 0 already
  return fmul(float_of(bits_of(p) + (bits_of(t) << 23)), 0x1p-64f);
}

// silu is x / (1 + e^-x).
DEVICE float silu(float x) { return fdiv(x, fadd(1.0f, exp_f32(-x))); }
