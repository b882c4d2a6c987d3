// The order of sums of the tensor family, one output at a time, by the same model of the hardware as the emulation's.
#pragma once
#include "harness.h"
#include "order.cuh"

// chain is the sum of n products in steps of 16 from c on; what is missing of the last step is zeros.
template <class T>
float chain(const T *a, const T *b, int n, float c) {
  emu::Half half = __is_same(T, bf16) ? emu::Half::bf16 : emu::Half::f16;
  for (int i = 0; i < n; i += 16) {
    uint16_t x[16] = {}, y[16] = {};
    for (int j = 0; j < 16 && i + j < n; j++) x[j] = a[i + j].bits, y[j] = b[i + j].bits;
    c = emu::dot16(half, x, y, c);
  }
  return c;
}
