// Sums of sampling: whole numbers of units of 2^-63, in 128 bits, so that the order of adding does not matter.
//
// A weight is a double between 0 and 1; what it has below 2^-63 is cut off. A sum of n weights, of which the highest is
// 1, is therefore exact to n units, 1.7e-14 for a vocabulary of 152,000. That is more than a sum of doubles in order of
// ids can promise. It depends neither on the number of threads nor on which thread adds what.
#pragma once
#include "numeric.cuh"

// SAMPLING_ASSERT is for the tests: what must hold, or a result would be wrong.
#ifndef SAMPLING_ASSERT
#define SAMPLING_ASSERT(holds)
#endif

namespace sampling {

struct Sum {
  uint64_t low, high;
};

DEVICE Sum sum_of(uint64_t units) { return Sum{units, 0}; }
DEVICE Sum plus(Sum a, Sum b) {
  uint64_t low = a.low + b.low;
  return Sum{low, a.high + b.high + (low < b.low)};
}
DEVICE Sum minus(Sum a, Sum b) { return Sum{a.low - b.low, a.high - b.high - (a.low < b.low)}; }
DEVICE bool reaches(Sum a, Sum b) { return a.high != b.high ? a.high > b.high : a.low >= b.low; }

// Adder adds up to 2^32 numbers of units, with less work than Sum.
struct Adder {
  uint64_t low, high; // sums of the lower and the upper halves
};
DEVICE void add(Adder &a, uint64_t units) {
  a.low += uint32_t(units);
  a.high += units >> 32;
}
DEVICE Sum sum_of(Adder a) { return plus(Sum{a.low, 0}, Sum{a.high << 32, a.high >> 32}); }

// to_double is a sum of at least 1, cut to 53 bits.
DEVICE double to_double(Sum s) {
  int bits = s.high ? 128 - __builtin_clzll(s.high) : 64; // 64 is the bit of 1
  uint64_t top = bits > 64 ? s.high << (128 - bits) | s.low >> (bits - 64) : s.low; // the first 64 bits
  return double_of((top >> 11) - 0x0010000000000000 + (uint64_t(bits - 64 + 1023) << 52));
}

// whole is a double, 0 <= x < 2^64, in units, rounded down, or up, to a whole one.
DEVICE Sum whole(double x, bool up) {
  uint64_t b = bits_of(x), mantissa = (b & 0x000fffffffffffff) | 0x0010000000000000;
  int left = int(b >> 52) - 1012;
  if (left <= -53) return sum_of(up && x > 0.0);
  if (left <= 0) return sum_of((mantissa + (up ? (1ull << -left) - 1 : 0)) >> -left);
  return left < 64 ? Sum{mantissa << left, mantissa >> (64 - left)} : Sum{0, mantissa << (left - 64)};
}

// Of the lanes of a warp: total is the sum of all, running the sum of this lane and those before.
DEVICE Sum total(Sum s) {
  UNROLL_BY(1) for (int lanes = 16; lanes > 0; lanes /= 2)
    s = plus(s, Sum{__shfl_xor_sync(ALL_LANES, s.low, lanes), __shfl_xor_sync(ALL_LANES, s.high, lanes)});
  return s;
}
DEVICE Sum running(Sum s) {
  UNROLL_BY(1) for (int lanes = 1; lanes < 32; lanes *= 2) {
    Sum before{__shfl_up_sync(ALL_LANES, s.low, lanes), __shfl_up_sync(ALL_LANES, s.high, lanes)};
    if (int(threadIdx.x % 32) >= lanes) s = plus(s, before);
  }
  return s;
}

// crossing returns the first lane at which the running sum reaches a goal, which the sum of all lanes must do, and
// reduces the goal by the sum of the lanes before it.
DEVICE int crossing(Sum s, Sum &goal) {
  Sum run = running(s), before = minus(run, s);
  unsigned reached = __ballot_sync(ALL_LANES, reaches(run, goal));
  SAMPLING_ASSERT(reached != 0);
  int lane = __builtin_ctz(reached);
  goal = minus(goal, Sum{__shfl_sync(ALL_LANES, before.low, lane), __shfl_sync(ALL_LANES, before.high, lane)});
  return lane;
}

} // namespace sampling
