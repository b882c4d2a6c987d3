#include "emu.h"

KERNEL(add_one)(int *p, int n) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) p[i]++;
}
REGISTER(add_one);
