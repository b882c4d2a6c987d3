// Kernels for tests of the fake driver.
#include "emu.h"

KERNEL(add)(int *out, const int *in, int n, int by) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i] + by;
}
REGISTER(add);

KERNEL(patient)(int *p) {
  wait_for_previous();
  *p = 7;
}
REGISTER(patient);
// twice doubles and adds one, so that the order of two kernels shows.
KERNEL(twice)(int *p) { *p = *p * 2 + 1; }
REGISTER(twice);
KERNEL(thrice)(int *p) { *p *= 3; }
REGISTER(thrice);

KERNEL(broken)(int *p) {
  if (threadIdx.x < 7)
    __syncwarp();
  else
    __syncthreads();
  *p = 1;
}
REGISTER(broken);

KERNEL(write_at)(char *p, int64_t at) { p[at] = 1; }
REGISTER(write_at);

KERNEL(needs_shared)(int *out, int n) {
  DYNAMIC_SHARED(s);
  for (int i = (int)threadIdx.x; i < n; i += 32) s[i] = 1;
  __syncthreads();
  if (threadIdx.x == 0) *out = (int)s[n - 1];
}
REGISTER(needs_shared);

KERNEL_THREADS(64, sixty_four)(int *out, float x, int8_t small, uint64_t big, int16_t shorter) {
  if (threadIdx.x == 0) out[0] = (int)x + small + (int)big + shorter;
}
REGISTER(sixty_four);

KERNEL(first_tile)(const TensorMap *map, float *out) {
  DYNAMIC_SHARED(raw);
  SHARED(uint64_t, full, [1]);
  float *s = (float *)(((uintptr_t)raw + 127) & ~(uintptr_t)127);
  if (threadIdx.x == 0) {
    mbarrier_init(full, 1);
    mbarrier_fence_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_expect_tx(full, 8 * 4 * 4);
    tma_load_2d(s, map, full, 4, 2);
  }
  mbarrier_wait(full, 0);
  out[threadIdx.x] = s[threadIdx.x];
}
REGISTER(first_tile);
