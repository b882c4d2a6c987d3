// Lengths and steps that fix the order of sums in every family of kernels. A change changes results, so it changes the
// device's kernel version.
#pragma once
#include "numeric.cuh"

constexpr int SEGMENT = 512;   // elements of K whose products are summed from zero before they join the total
constexpr int BLOCK = 64;      // positions that attention takes at once, counted from 0
constexpr int POSITIONS = 512; // positions with a softmax of their own, a segment of attention

DEVICE int segments_of(int k) { return (k + SEGMENT - 1) / SEGMENT; }

DEVICE int lesser(int a, int b) { return a < b ? a : b; }

// merge adds the total of a later segment of attention to that of the earlier ones. Sums are multiplied by mine and
// theirs, then added: join.
DEVICE void merge(float &peak, float &total, float their_peak, float their_total, float &mine, float &theirs) {
  float highest = flarger(peak, their_peak);
  mine = exp_not_positive(fsub(peak, highest));
  theirs = exp_not_positive(fsub(their_peak, highest));
  total = ffma(total, mine, fmul(their_total, theirs));
  peak = highest;
}
DEVICE float join(float sum, float mine, float their_sum, float theirs) { return ffma(sum, mine, fmul(their_sum, theirs)); }
