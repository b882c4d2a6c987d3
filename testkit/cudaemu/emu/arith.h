// arith.h: correctly rounded arithmetic, conversions between float32 and the
// 16-bit types with the bits of gpu/float16.go, and bit tricks of CUDA C.
// Compiled with -ffp-contract=off, plain operators round once.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#define EMU_FN static inline __attribute__((unused))

EMU_FN uint32_t __float_as_uint(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
EMU_FN float __uint_as_float(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
EMU_FN int __float_as_int(float f) { int u; memcpy(&u, &f, 4); return u; }
EMU_FN float __int_as_float(int u) { float f; memcpy(&f, &u, 4); return f; }
EMU_FN long long __double_as_longlong(double d) { long long u; memcpy(&u, &d, 8); return u; }
EMU_FN double __longlong_as_double(long long u) { double d; memcpy(&d, &u, 8); return d; }

EMU_FN float fadd(float a, float b) { return a + b; }
EMU_FN float fsub(float a, float b) { return a - b; }
EMU_FN float fmul(float a, float b) { return a * b; }
EMU_FN float ffma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EMU_FN float fdiv(float a, float b) { return a / b; }
EMU_FN float fsqrt(float a) { return __builtin_sqrtf(a); }
EMU_FN double dadd(double a, double b) { return a + b; }
EMU_FN double dsub(double a, double b) { return a - b; }
EMU_FN double dmul(double a, double b) { return a * b; }
EMU_FN double dfma(double a, double b, double c) { return __builtin_fma(a, b, c); }
EMU_FN double ddiv(double a, double b) { return a / b; }

// from_bf16 and from_f16 widen; exact.
EMU_FN float from_bf16(uint16_t b) { return __uint_as_float((uint32_t)b << 16); }
EMU_FN float from_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, a = h & 0x7fff;
  if (a >= 0x7c00) return __uint_as_float(sign | 0x7f800000 | a << 13);
  if (a < 0x400) return __uint_as_float(sign | __float_as_uint((float)a * 0x1p-24f));
  return __uint_as_float(sign | ((a << 13) + (112u << 23)));
}
// to_bf16 and to_f16 round to nearest, ties to even. NaN stays NaN.
EMU_FN uint16_t to_bf16(float f) {
  uint32_t b = __float_as_uint(f);
  if ((b & 0x7fffffff) > 0x7f800000) return (uint16_t)(b >> 16 | 0x40);
  return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
EMU_FN uint16_t to_f16(float f) {
  uint32_t b = __float_as_uint(f), a = b & 0x7fffffff;
  uint16_t sign = (uint16_t)(b >> 16 & 0x8000);
  if (a > 0x7f800000) return sign | 0x7e00;
  if (a >= 0x477ff000) return sign | 0x7c00;
  if (a >= 0x38800000) return sign | (uint16_t)((a - (112u << 23) + 0xfff + (a >> 13 & 1)) >> 13);
  return sign | (uint16_t)(__float_as_uint(__uint_as_float(a) + 0.5f) - 0x3f000000);
}

// Both at once, the first one low.
EMU_FN uint32_t pair_bf16(float low, float high) { return to_bf16(low) | (uint32_t)to_bf16(high) << 16; }
EMU_FN uint32_t pair_f16(float low, float high) { return to_f16(low) | (uint32_t)to_f16(high) << 16; }

// sub_bf16x2 subtracts both halves: exact in float32 for what is used here, then rounded.
EMU_FN uint32_t sub_bf16x2(uint32_t a, uint32_t b) {
  return pair_bf16(from_bf16((uint16_t)a) - from_bf16((uint16_t)b), from_bf16((uint16_t)(a >> 16)) - from_bf16((uint16_t)(b >> 16)));
}

EMU_FN uint32_t and_or(uint32_t x, uint32_t mask, uint32_t bits) { return (x & mask) | bits; }
// byte_perm picks bytes by digits of 0 to 7: prmt without the replication of signs.
EMU_FN uint32_t byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t both = (uint64_t)b << 32 | a;
  uint32_t out = 0;
  for (int i = 0; i < 4; i++) out |= (uint32_t)(both >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return out;
}

template <class T> EMU_FN T __ldg(const T *p) { return *p; }
