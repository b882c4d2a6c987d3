// Small kernels with one thing left out: each must be found, by a wrong result or
// by an error, within a few seeds.
#include "test.h"

#include <string.h>

static uint64_t seeds = 12;

// caught counts the seeds with which a kernel with mistake m does not give want.
template <class F> static int caught(F once) {
  int n = 0;
  for (uint64_t seed = 0; seed < seeds; seed++) n += !once(seed);
  return n;
}

// transpose of a 32 x 32 tile by 8 warps.
template <int mistake> DEVICE void transpose_tile(const int *in, int *out) {
  SHARED(int, tile, [32][33]);
  unsigned w = threadIdx.x / 32, l = threadIdx.x % 32;
  for (int round = 0; round < 3; round++) {
    for (unsigned i = w; i < 32; i += 8) tile[i][l] = in[round * 1024 + (int)(i * 32 + l)];
    if (mistake != 1) __syncthreads();
    for (unsigned i = w; i < 32; i += 8) out[round * 1024 + (int)(i * 32 + l)] = tile[l][i];
    if (mistake != 2) __syncthreads(); // before the tile is used again
  }
}

// sum of a block: by lanes of a warp through shared memory, then by warps.
template <int mistake> DEVICE void sum_block(const int *in, int *out) {
  SHARED(int, part, [8]);
  SHARED(int, box, [256]);
  unsigned w = threadIdx.x / 32, l = threadIdx.x % 32;
  box[threadIdx.x] = in[threadIdx.x];
  for (unsigned half = 16; half; half /= 2) {
    if (mistake != 1) __syncwarp();
    int other = box[w * 32 + (l + half) % 32];
    if (mistake != 2) __syncwarp();
    box[threadIdx.x] += other;
  }
  if (l == 0) part[w] = box[threadIdx.x];
  if (mistake != 3) __syncthreads();
  if (w == 0) {
    int v = l < 8 ? part[l] : 0;
    for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
    if (l == 0) out[0] = v;
  }
}

// pipeline adds up stages that cp.async brings, 3 stages deep.
template <int mistake> DEVICE void pipeline(const int *in, int *out, int n) {
  SHARED(int, stage, [3][128 * 4]);
  unsigned t = threadIdx.x;
  auto load = [&](int i) {
    if (i < n) cp_async16(&stage[i % 3][t * 4], in + i * 512 + (int)t * 4);
    cp_async_commit();
  };
  load(0);
  load(1);
  int sum = 0;
  for (int i = 0; i < n; i++) {
    if (mistake == 1)
      cp_async_wait<2>(); // one group too few
    else if (mistake != 2)
      cp_async_wait<1>();
    if (mistake == 4) load(i + 2); // before the others have read the stage
    if (mistake != 3) __syncthreads();
    if (mistake != 4) load(i + 2);
    for (int k = 0; k < 4; k++) sum += (i + 1) * stage[i % 3][(t * 37 + (unsigned)k * 100) % 512];
  }
  out[t] = sum;
}

// ring is that of copies.cc with mistakes.
template <int mistake> DEVICE void ring_of(const float *from, float *out, int n) {
  SHARED(uint64_t, full, [2]);
  SHARED(uint64_t, empty, [2]);
  DYNAMIC_SHARED(s);
  unsigned t = threadIdx.x, w = t / 32;
  if (t == 0 && mistake != 1) {
    for (int i = 0; i < 2; i++) {
      mbarrier_init(&full[i], 1);
      mbarrier_init(&empty[i], mistake == 2 ? 2 : 3);
    }
    if (mistake != 12) mbarrier_fence_init();
  }
  if (mistake != 3) __syncthreads();
  if (w == 0) {
    if (t == 0)
      for (int i = 0; i < n; i++) {
        int at = i % 2;
        if (mistake != 4) mbarrier_wait(&empty[at], (unsigned)(i / 2 & 1) ^ (mistake == 5 ? 0 : 1));
        mbarrier_expect_tx(&full[at], mistake == 6 ? 64 * 4 : 96 * 4);
        tma_load_bulk(s + at * 512, from + i * 96, 96 * 4, &full[at]);
      }
    return;
  }
  float sum = 0;
  for (int i = 0; i < n; i++) {
    int at = i % 2;
    if (mistake == 8) {
      mbarrier_try_wait(&full[at], (unsigned)(i / 2 & 1)); // without a loop
    } else if (mistake != 7) {
      mbarrier_wait(&full[at], mistake == 9 ? 0 : (unsigned)(i / 2 & 1));
    }
    sum += (float)(i + 1) * ((const float *)(s + at * 512))[95 - (t - 32)];
    if (mistake != 10) __syncwarp();
    if (t % 32 == 0 && mistake != 11) mbarrier_arrive(&empty[at]);
    if (mistake == 10) __syncwarp();
  }
  out[t - 32] = sum;
}

// named passes values between two halves of a block by barriers 1 and 2.
template <int mistake> DEVICE void named_pair(int *out, int n) {
  SHARED(int, box, [64]);
  unsigned t = threadIdx.x;
  if (t >= 64) {
    for (int i = 0; i < n; i++) {
      if (mistake != 1) bar_sync(1, 128);
      box[t - 64] = i * 100 + (int)t - 64;
      bar_arrive(mistake == 2 ? 3 : 2, 128);
    }
  } else {
    if (mistake != 1) bar_arrive(1, 128);
    for (int i = 0; i < n; i++) {
      if (mistake == 3)
        bar_arrive(2, 128);
      else
        bar_sync(2, mistake == 4 ? 64 : 128);
      out[i * 64 + (int)t] = box[63 - t];
      if (i + 1 < n && mistake != 1) bar_arrive(1, 128);
    }
  }
}

// last_block: each block leaves a part, the last one to arrive adds them up.
template <int mistake> DEVICE void last_block(const int *in, int *part, int *arrived, int *out) {
  SHARED(int, last, [1]);
  SHARED(int, sum, [64]);
  unsigned t = threadIdx.x;
  part[blockIdx.x * 64 + t] = in[blockIdx.x * 64 + t] * 2;
  if (mistake != 1 && mistake != 5) __threadfence();
  if (mistake != 2) __syncthreads();
  if (t == 0 && mistake == 5) __threadfence(); // for all: they are before the barrier
  if (t == 0) last[0] = atomicAdd(arrived, 1) == (int)gridDim.x - 1;
  if (mistake != 3) __syncthreads();
  if (!last[0]) return;
  if (mistake != 4) __threadfence();
  int v = 0;
  for (unsigned b = 0; b < gridDim.x; b++) v += part[b * 64 + (t + 1) % 64];
  sum[t] = v;
  __syncthreads();
  if (t == 0) {
    int all = 0;
    for (int i = 0; i < 64; i++) all += sum[i];
    *out = all;
    *arrived = 0; // for the next launch
  }
}

#define VARIANT(name, m, parameters, arguments)  \
  KERNEL(name##_##m) parameters { name<m> arguments; } \
  REGISTER(name##_##m)
#define TRANSPOSE(m) VARIANT(transpose_tile, m, (const int *in, int *out), (in, out))
TRANSPOSE(0);
TRANSPOSE(1);
TRANSPOSE(2);
#define SUM(m) VARIANT(sum_block, m, (const int *in, int *out), (in, out))
SUM(0);
SUM(1);
SUM(2);
SUM(3);
#define PIPELINE(m) VARIANT(pipeline, m, (const int *in, int *out, int n), (in, out, n))
PIPELINE(0);
PIPELINE(1);
PIPELINE(2);
PIPELINE(3);
PIPELINE(4);
#define RING(m) VARIANT(ring_of, m, (const float *from, float *out, int n), (from, out, n))
RING(0);
RING(1);
RING(2);
RING(3);
RING(4);
RING(5);
RING(6);
RING(7);
RING(8);
RING(9);
RING(10);
RING(11);
RING(12);
#define NAMED(m) VARIANT(named_pair, m, (int *out, int n), (out, n))
NAMED(0);
NAMED(1);
NAMED(2);
NAMED(3);
NAMED(4);

#define LAST(m) VARIANT(last_block, m, (const int *in, int *part, int *arrived, int *out), (in, part, arrived, out))
LAST(0);
LAST(1);
LAST(2);
LAST(3);
LAST(4);
LAST(5);

static void expect_caught(const char *kernel, int mistake, int n) {
  // In the build for races the schedule does not matter, but for two mistakes that
  // are no races: an mbarrier used before it is initialised, and a wait that gave up.
  if (emu::race::on && mistake && n != (int)seeds && !(kernel[0] == 'r' && (mistake == 3 || mistake == 8))) n = 0;
  if (mistake ? n == 0 : n != 0) wrong("%s with mistake %d: caught %d times of %d", kernel, mistake, n, (int)seeds);
}

TEST(mutants_of_transpose) {
  std::vector<int> in(3072), out(3072);
  for (size_t i = 0; i < in.size(); i++) in[i] = (int)i;
  for (int m = 0; m <= 2; m++)
    expect_caught("transpose", m, caught([&](uint64_t seed) {
                    std::string name = "transpose_tile_" + std::to_string(m);
                    if (!start(name.c_str(), {1, 256, 0, seed}, (const int *)in.data(), out.data()).empty()) return false;
                    for (int i = 0; i < 3072; i++)
                      if (out[(size_t)i] != i / 1024 * 1024 + i % 32 * 32 + i / 32 % 32) return false;
                    return true;
                  }));
}

TEST(mutants_of_sum) {
  std::vector<int> in(256);
  int want = 0, out = 0;
  for (size_t i = 0; i < in.size(); i++) want += in[i] = (int)(i * i);
  for (int m = 0; m <= 3; m++)
    expect_caught("sum", m, caught([&](uint64_t seed) {
                    std::string name = "sum_block_" + std::to_string(m);
                    return start(name.c_str(), {1, 256, 0, seed}, (const int *)in.data(), &out).empty() && out == want;
                  }));
}

TEST(mutants_of_pipeline) {
  const int n = 9;
  alignas(16) static int in[512 * n];
  int out[128];
  for (int i = 0; i < 512 * n; i++) in[i] = i * 7 % 1009;
  for (int m = 0; m <= 4; m++)
    expect_caught("pipeline", m, caught([&](uint64_t seed) {
                    std::string name = "pipeline_" + std::to_string(m);
                    if (!start(name.c_str(), {1, 128, 0, seed, emu::early_by_seed(seed)}, (const int *)&in[0], &out[0], n).empty()) return false;
                    for (int t = 0; t < 128; t++) {
                      int want = 0;
                      for (int i = 0; i < n; i++)
                        for (int k = 0; k < 4; k++) want += (i + 1) * in[i * 512 + (t * 37 + k * 100) % 512];
                      if (out[t] != want) return false;
                    }
                    return true;
                  }));
}

TEST(mutants_of_ring) {
  const int n = 9;
  alignas(16) static float from[96 * n];
  float out[96];
  for (int i = 0; i < 96 * n; i++) from[i] = (float)(i * 7 % 101);
  for (int m = 0; m <= 12; m++)
    expect_caught("ring", m, caught([&](uint64_t seed) {
                    std::string name = "ring_of_" + std::to_string(m);
                    if (!start(name.c_str(), {1, 128, 1024, seed, emu::early_by_seed(seed)}, (const float *)&from[0], &out[0], n).empty()) return false;
                    for (int t = 0; t < 96; t++) {
                      float want = 0;
                      for (int i = 0; i < n; i++) want += (float)(i + 1) * from[i * 96 + 95 - t];
                      if (out[t] != want) return false;
                    }
                    return true;
                  }));
}

TEST(mutants_of_named_barriers) {
  int out[64 * 6];
  for (int m = 0; m <= 4; m++)
    expect_caught("named", m, caught([&](uint64_t seed) {
                    std::string name = "named_pair_" + std::to_string(m);
                    if (!start(name.c_str(), {1, 128, 0, seed}, &out[0], 6).empty()) return false;
                    for (int i = 0; i < 6; i++)
                      for (int t = 0; t < 64; t++)
                        if (out[i * 64 + t] != i * 100 + 63 - t) return false;
                    return true;
                  }));
}

// The fences around an atomic show in the build for races only, and so do barriers
// whose absence gives the right sum all the same.
TEST(mutants_of_last_block) {
  const int blocks = 5;
  std::vector<int> in(64 * blocks), part(64 * blocks);
  int want = 0;
  for (size_t i = 0; i < in.size(); i++) want += 2 * (in[i] = (int)(i * i % 97));
  for (int m = 0; m <= 5; m++) {
    if (!emu::race::on && m >= 1 && m <= 4) continue;
    int n = caught([&](uint64_t seed) {
      std::string name = "last_block_" + std::to_string(m);
      int arrived = 0, out = 0;
      std::fill(part.begin(), part.end(), -1000);
      return start(name.c_str(), {blocks, 64, 0, seed}, (const int *)in.data(), part.data(), &arrived, &out).empty() && out == want && !arrived;
    });
    expect_caught("last_block", m == 5 ? 0 : m, n);
  }
}
