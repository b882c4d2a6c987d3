// Kernels with accesses out of bounds and undefined behaviour, one for each run.
#include "emu.h"

#include <stdio.h>

#include <string>

KERNEL(mistakes)(const int *in, int *out, int how) {
  SHARED(int, first, [5]);
  SHARED(int, second, [5]);
  DYNAMIC_SHARED(bytes);
  int local[5] = {};
  volatile int at = how;
  first[threadIdx.x % 5] = second[threadIdx.x % 5] = 0;
  bytes[threadIdx.x] = 0;
  __syncthreads();
  const int *p = first, *q = second, *r = local; // not arrays, whose bounds the compiler knows
  int v = 0;
  if (threadIdx.x == 31) {
    if (how == 1) v = in[32 * at];
    if (how == 2) v = in[-1 * at / 2];
    if (how == 3) v = q[2 + at];
    if (how == 4) v = p[1 + at];
    if (how == 5) v = bytes[95 + at];
    if (how == 6) v = r[at - 1];
    if (how == 7) v = 1 << (25 + at);
    if (how == 8) v = *(const int *)((const char *)in + at - 7);
  }
  out[threadIdx.x] = v;
}
REGISTER(mistakes);

int main(int argc, char **argv) {
  const char *names[] = {"none", "global", "before", "static", "between", "dynamic", "local", "shift", "align"};
  int how = -1;
  for (int i = 0; i < 9; i++)
    if (argc > 1 && std::string(argv[1]) == names[i]) how = i;
  int *in = new int[32]{}, *out = new int[32]{};
  void *args[] = {&in, &out, &how};
  emu::Launch l{emu::find("mistakes"), {1, 1, 1}, {32, 1, 1}, 100, args, 1, false};
  std::string e = emu::run(l);
  puts(e.empty() ? "fine" : e.c_str());
}
