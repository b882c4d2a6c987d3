// What the emulation costs.
#include "test.h"

#include <string.h>

KERNEL(time_nothing)(int *out) {
  if (threadIdx.x == 0) out[blockIdx.x] = 1;
}
REGISTER(time_nothing);
KERNEL(time_barriers)(float *out, int n) {
  SHARED(float, s, [1024]);
  float v = (float)threadIdx.x;
  for (int i = 0; i < n; i++) {
    s[threadIdx.x] = v;
    __syncthreads();
    v = s[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
  }
  out[threadIdx.x] = v;
}
REGISTER(time_barriers);
KERNEL(time_shuffles)(float *out, int n) {
  float v = (float)threadIdx.x;
  for (int i = 0; i < n; i++) v = __shfl_sync(~0u, v, (int)threadIdx.x + 1);
  out[threadIdx.x] = v;
}
REGISTER(time_shuffles);
KERNEL(time_mma)(float *out, int n) {
  float c[4] = {};
  uint32_t a[4], b[2];
  for (auto &x : a) x = 0x3f803f81u + threadIdx.x;
  for (auto &x : b) x = 0x3f803f81u + threadIdx.x;
  for (int i = 0; i < n; i++) mma_bf16(c, a, b);
  for (unsigned i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = c[i];
}
REGISTER(time_mma);
KERNEL(time_ldmatrix)(float *out, int n) {
  DYNAMIC_SHARED(s);
  uint32_t r[4];
  unsigned z = 0;
  for (int i = 0; i < n; i++) {
    ldmatrix_x4(r, s + (threadIdx.x & 31) * 16);
    z += r[0];
  }
  out[threadIdx.x] = (float)z;
}
REGISTER(time_ldmatrix);

static void measure(const char *what, double units, const char *kernel, Shape s, int n) {
  std::vector<float> out(1 << 16);
  double best = 1e30;
  for (int i = 0; i < 3; i++) {
    double t = cpu_time();
    if (n)
      run(kernel, s, out.data(), n);
    else
      run(kernel, s, (int *)out.data());
    best = fmin(best, cpu_time() - t);
  }
  printf("time %s: %.1f ns\n", what, best / units);
}

TEST(times) {
  emu::set_workers(1);
  measure("launch of one block of 256 threads", 1, "time_nothing", {1, 256}, 0);
  measure("thread that does not wait", 1000 * 256, "time_nothing", {1000, 256}, 0);
  measure("__syncthreads, by thread, 256 threads", 2000 * 256, "time_barriers", {1, 256}, 1000);
  measure("__syncthreads, by thread, 1024 threads", 2000 * 1024, "time_barriers", {1, 1024}, 1000);
  measure("shuffle, by lane", 1000 * 256, "time_shuffles", {1, 256}, 1000);
  measure("mma.m16n8k16", 1000 * 8, "time_mma", {1, 256}, 1000);
  measure("ldmatrix.x4", 1000 * 8, "time_ldmatrix", {1, 256, 1024}, 1000);
  for (int architecture : {90, 80}) {
    emu::architecture = architecture;
    uint16_t a[256], b[128];
    float c[128] = {};
    for (auto &x : a) x = (uint16_t)(0x3f00 + (random_bits() & 0x80ff));
    for (auto &x : b) x = (uint16_t)(0x3f00 + (random_bits() & 0x80ff));
    double t = cpu_time();
    for (int i = 0; i < 2000; i++) emu::dot_tile(emu::Half::bf16, a, 16, b, 8, c, 8);
    printf("time element of a product with 16 factors, compute capability %d: %.2f ns\n", architecture, (cpu_time() - t) / 2000 / 128);
  }
}
