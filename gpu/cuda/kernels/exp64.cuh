// e^x and ln x in double for sampling, made of correctly rounded operations only, so that every GPU and the emulation
// give the same bits.
//
// Error: below 0.83 units in the last place for e^x and 0.87 for ln x, subnormal numbers included. So much was seen
// against long double on 400 million points each (sampletest/cc/exp64.cc). Adding up the roundings gives at most 0.93
// for e^x.
#pragma once
#include "numeric.cuh"

constexpr double LOG2_E_64 = 0x1.71547652b82fep+0;
// ln 2 in two parts; the first has 41 bits, so its products with exponents are exact.
constexpr double LN2_HIGH_64 = 0x1.62e42fefa4000p-1, LN2_LOW_64 = -0x1.8432a1b0e2634p-43;
// Adding it to a number below 2^51 leaves the nearest integer in the low bits.
constexpr double ROUNDING_64 = 0x1.8p52;

// exp_parts returns y and k of e^x = 2^k y, for |x| < 1000; of other numbers anything.
//
// x = k ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite 1980). y = e^r = 1 + r + r^2 q(r), where q is a polynomial of
// degree 10 through Chebyshev nodes; it is off by less than 0.004 units. 1 + r is added exactly, as a sum and its error.
DEVICE double exp_parts(double x, int &k) {
  double shifted = dfma(x, LOG2_E_64, ROUNDING_64), n = dsub(shifted, ROUNDING_64);
  double r = dfma(n, -LN2_HIGH_64, x);
  r = dfma(n, -LN2_LOW_64, r);
  double q = 0x1.1f72fd22159cdp-29;
  q = dfma(q, r, 0x1.af4ddeb6edd5ap-26);
  q = dfma(q, r, 0x1.27e4db6760171p-22);
  q = dfma(q, r, 0x1.71de0236c3217p-19);
  q = dfma(q, r, 0x1.a01a01a6d79b0p-16);
  q = dfma(q, r, 0x1.a01a01abe65c3p-13);
  q = dfma(q, r, 0x1.6c16c16c162d6p-10);
  q = dfma(q, r, 0x1.11111111100dfp-7);
  q = dfma(q, r, 0x1.5555555555556p-5);
  q = dfma(q, r, 0x1.5555555555557p-3);
  q = dfma(q, r, 0.5);
  double sum = dadd(1.0, r), lost = dadd(dsub(1.0, sum), r);
  k = int(uint32_t(bits_of(shifted)));
  return dadd(sum, dfma(dmul(r, r), q, lost));
}

// times_power_of_2 is y 2^k, both of which are normal numbers.
DEVICE double times_power_of_2(double y, int k) { return double_of(bits_of(y) + (uint64_t(uint32_t(k)) << 52)); }

// exp_f64 is e^x. exp(0) is exactly 1, exp(-inf) is 0, exp(inf) is infinite, NaN stays NaN.
DEVICE double exp_f64(double x) {
  if (x > 0x1.62e42fefa39efp+9) return double_of(0x7ff0000000000000); // the largest double is e^709.78
  if (!(x >= -746.0)) return x != x ? x : 0.0;
  int k;
  double y = exp_parts(x, k);
  if (k > -1000 && k < 1000) return times_power_of_2(y, k);
  int half = k >> 1; // in two steps, of which the second one rounds subnormal results
  return dmul(dmul(y, times_power_of_2(1.0, half)), times_power_of_2(1.0, k - half));
}

// log_f64 is ln x. ln 0 is -inf, of a negative number or NaN it is NaN, ln inf is infinite.
//
// x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). With s = f / (2 + f), ln(1 + f) = 2 artanh(s) = 2 s + s R(s^2) and
// 2 s = f - f^2/2 + s f^2/2 (Tang 1990); R is a polynomial of degree 8 through Chebyshev nodes; it is off by less than
// 0.001 units.
DEVICE double log_f64(double x) {
  constexpr uint64_t one = 0x3ff0000000000000, root_half = 0x3fe6a09e667f3bcd, fraction = 0x000fffffffffffff;
  if (!(x > 0.0)) return double_of(x == 0.0 ? 0xfff0000000000000 : 0x7ff8000000000000);
  if (bits_of(x) == 0x7ff0000000000000) return x;
  int k = 0;
  if (x < 0x1p-1022) x = dmul(x, 0x1p54), k = -54;
  uint64_t b = bits_of(x) + (one - root_half);
  k += int(b >> 52) - 1023;
  double n = double(k), f = dsub(double_of((b & fraction) + root_half), 1.0);
  double s = ddiv(f, dadd(2.0, f)), z = dmul(s, s);
  double p = 0x1.0c0aff044a970p-3;
  p = dfma(p, z, 0x1.0fbde0f4ad17bp-3);
  p = dfma(p, z, 0x1.3b1c3c1c81c8fp-3);
  p = dfma(p, z, 0x1.745cf8e4bba1bp-3);
  p = dfma(p, z, 0x1.c71c7201a55d7p-3);
  p = dfma(p, z, 0x1.2492492476a1ap-2);
  p = dfma(p, z, 0x1.9999999999a39p-2);
  p = dfma(p, z, 0x1.5555555555555p-1);
  double half = dmul(dmul(0.5, f), f);
  double low = dfma(n, LN2_LOW_64, dmul(s, dfma(p, z, half)));
  return dfma(n, LN2_HIGH_64, dsub(f, dsub(half, low)));
}
