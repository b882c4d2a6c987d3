// Threads, warps, blocks: indices, order, waits, and the errors of waits.
#include "test.h"

#include <set>

KERNEL(indices)(int *out) {
  unsigned b = blockIdx.x + gridDim.x * blockIdx.y;
  atomicAdd(&out[b * blockDim.x + threadIdx.x], 1);
}
REGISTER(indices);

TEST(every_thread_runs_once) {
  for (unsigned threads : {1u, 7u, 32u, 33u, 256u, 1000u, 1024u})
    for (unsigned grid : {1u, 2u, 13u}) {
      std::vector<int> out(threads * grid * 3);
      run("indices", {grid, threads, 0, 5, false, 3}, out.data());
      for (int v : out)
        if (v != 1) wrong("%u threads, grid %u: a thread ran %d times", threads, grid, v);
    }
}

// turn passes values around the block, n times.
KERNEL(turn)(int *out, int n) {
  SHARED(int, all, [1024]);
  int v = (int)threadIdx.x;
  for (int i = 0; i < n; i++) {
    all[threadIdx.x] = v;
    __syncthreads();
    v = all[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
REGISTER(turn);

TEST(barriers) {
  for (unsigned threads : {1u, 31u, 32u, 33u, 100u, 256u, 1024u})
    for (uint64_t seed = 0; seed < 6; seed++) {
      std::vector<int> out(threads * 3);
      run("turn", {3, threads, 0, seed}, out.data(), 5);
      for (unsigned i = 0; i < out.size(); i++)
        if (out[i] != (int)((i % threads + 5) % threads)) wrong("%u threads: %d at %u", threads, out[i], i);
    }
}

KERNEL(leave_early)(int *out, int stay) {
  SHARED(int, sum, [1]);
  if (threadIdx.x == 0) sum[0] = 0;
  __syncthreads();
  if ((int)threadIdx.x >= stay) return;
  atomicAdd(&sum[0], 1);
  __syncthreads();
  out[threadIdx.x] = sum[0];
  int odd = __syncthreads_count(threadIdx.x & 1);
  int any = __syncthreads_or(threadIdx.x == 3), all = __syncthreads_and(threadIdx.x < 1000);
  out[threadIdx.x] += 1000 * odd + 100000 * any + 1000000 * all;
}
REGISTER(leave_early);

TEST(barriers_without_exited_threads) {
  for (int stay : {1, 5, 31, 32, 40, 64, 70, 128}) {
    std::vector<int> out(128);
    run("leave_early", {1, 128}, out.data(), stay);
    int want = stay + 1000 * (stay / 2) + 100000 * (stay > 3) + 1000000;
    for (int i = 0; i < stay; i++)
      if (out[(size_t)i] != want) wrong("%d stay: %d, want %d", stay, out[(size_t)i], want);
  }
}

// named: the last two warps produce, the first two consume, by barriers 1 and 2.
KERNEL(named)(int *out, int n) {
  SHARED(int, box, [64]);
  unsigned t = threadIdx.x;
  if (t >= 64) {
    for (int i = 0; i < n; i++) {
      bar_sync(1, 128); // empty
      box[t - 64] = i * 100 + (int)t - 64;
      bar_arrive(2, 128); // full
    }
  } else {
    bar_arrive(1, 128);
    for (int i = 0; i < n; i++) {
      bar_sync(2, 128);
      out[i * 64 + (int)t] = box[63 - t];
      if (i + 1 < n) bar_arrive(1, 128);
    }
  }
}
REGISTER(named);

TEST(named_barriers) {
  for (uint64_t seed = 0; seed < 16; seed++) {
    std::vector<int> out(64 * 10);
    run("named", {1, 128, 0, seed}, out.data(), 10);
    for (int i = 0; i < 10; i++)
      for (int t = 0; t < 64; t++)
        if (out[(size_t)(i * 64 + t)] != i * 100 + 63 - t) wrong("round %d: %d", i, out[(size_t)(i * 64 + t)]);
  }
}

KERNEL(fresh)(uint32_t *out, float *from, int n) {
  SHARED(uint32_t, fixed, [8]);
  DYNAMIC_SHARED(free);
  if (threadIdx.x == 0) {
    out[blockIdx.x * 3] = fixed[blockIdx.x % 8];
    out[blockIdx.x * 3 + 1] = *(uint32_t *)(free + 4 * (blockIdx.x % 16));
    out[blockIdx.x * 3 + 2] = (uint32_t)((uintptr_t)free % 1024);
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < 8; i += (int)blockDim.x) fixed[i] = 0;
  for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) free[i] = (unsigned char)from[0];
}
REGISTER(fresh);

TEST(shared_memory_is_fresh) {
  std::vector<uint32_t> out(3 * 40);
  float zero = 0;
  run("fresh", {40, 64, 4096}, out.data(), &zero, 4096);
  for (size_t b = 0; b < 40; b++)
    if (out[3 * b] != ~0u || out[3 * b + 1] != ~0u || out[3 * b + 2] != 128) wrong("block %zu begins with %08x %08x, dynamic memory at %u", b, out[3 * b], out[3 * b + 1], out[3 * b + 2]);
}

KERNEL(overrun)(int how) {
  SHARED(int, fixed, [33]);
  DYNAMIC_SHARED(free);
  volatile int *p = fixed;
  volatile unsigned char *q = free;
  if (threadIdx.x) return;
  if (how == 0) p[33] = 1;
  if (how == 1) q[100] = 1;
  if (how == 2) q[-1] = 1;
}
REGISTER(overrun);

#if !defined(__SANITIZE_ADDRESS__)
TEST(overruns_of_shared_memory) {
  expect_error(start("overrun", {1, 32, 100}, 0), {"kernel overrun", "past the shared variable fixed of 132 bytes"});
  expect_error(start("overrun", {1, 32, 100}, 1), {"kernel overrun", "past its dynamic shared memory of 100 bytes"});
  expect_error(start("overrun", {1, 32, 100}, 2), {"kernel overrun", "below its dynamic shared memory"});
}
#endif

KERNEL(diverge)(int how) {
  unsigned t = threadIdx.x;
  if (how == 0) { // lanes of a warp at different barriers
    if (t == 40)
      __syncthreads();
    else
      __syncthreads();
  }
  if (how == 1) { // warps at different barriers
    if (t >= 32)
      __syncthreads();
    else
      __syncthreads();
  }
  if (how == 2 && t != 37) __syncthreads(); // one lane goes on to a barrier of its warp
  if (how == 2) __syncwarp();
  if (how == 3) bar_sync(3, t < 32 ? 64 : 32);
  if (how == 4 && t < 32) bar_sync(2, 64); // the others never come
  if (how == 5) __shfl_sync(0xffff0000u, 1, 0);
  if (how == 6) {
    if (t % 2) __shfl_sync(~0u, 1, 0);
    else __ballot_sync(~0u, 1);
  }
  if (how == 7) bar_sync(16, 64);
  if (how == 8) bar_sync(1, 65);
  if (how == 9 && t > 5) {
    float c[4] = {};
    uint32_t a[4] = {}, b[2] = {};
    mma_bf16(c, a, b);
  }
  if (how == 10) {
    uint64_t local = 0;
    mbarrier_init(&local, 1);
  }
  if (how == 11) {
    SHARED(uint64_t, raw, [1]);
    mbarrier_arrive(raw);
  }
  if (how == 12) {
    SHARED(uint64_t, full, [1]);
    if (t == 0) mbarrier_init(full, 1);
    __syncthreads();
    mbarrier_expect_tx(full, 16); // the bytes never come, so the phase does not end
    __syncthreads();
  }
  if (how == 13) {
    SHARED(uint64_t, never, [1]);
    if (t == 0) mbarrier_init(never, 65);
    __syncthreads();
    mbarrier_arrive(never);
    mbarrier_wait(never, 0);
  }
}
REGISTER(diverge);

TEST(divergence_is_an_error) {
  const std::vector<std::vector<const char *>> words = {
      {"kernel diverge, block (", ", thread ", "divergence", "threads.cc"},
      {"barrier divergence", "warp "},
      {"deadlock", "__syncthreads", "__syncwarp", "thread "},
      {"bar.sync"}, // other counts, or a deadlock if the second warp comes first
      {"deadlock", "bar.sync"},
      {"not in its own mask"},
      {"diverged"},
      {"barrier 16"},
      {"65 threads"},
      {"mma needs all 32 lanes"},
      {"not in shared memory"},
      {"not initialised"},
      {"more arrivals"},
      {"deadlock", "mbarrier"},
  };
  for (size_t how = 0; how < words.size(); how++)
    for (uint64_t seed = 0; seed < 5; seed++) {
      std::string e = start("diverge", {2, 64, 0, seed}, (int)how);
      for (const char *w : words[how])
        if (e.find(w) == std::string::npos) wrong("case %zu: \"%s\" should contain \"%s\"", how, e.c_str(), w);
    }
  std::vector<int> out(64); // and the machine works afterwards
  run("turn", {1, 64}, out.data(), 1);
}

KERNEL(order)(int *next, int *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(next, 1); }
REGISTER(order);

TEST(order_follows_from_the_seed) {
  emu::set_workers(1);
  std::set<std::vector<int>> all;
  for (uint64_t seed = 0; seed < 10; seed++) {
    std::vector<int> first(256), again(256);
    int next = 0;
    run("order", {2, 128, 0, seed}, &next, first.data());
    next = 0;
    run("order", {2, 128, 0, seed}, &next, again.data());
    if (first != again) wrong("seed %d gives two orders", (int)seed);
    all.insert(first);
  }
  if (all.size() != 10) wrong("10 seeds give %zu orders", all.size());
}

// spin hangs if a thread that waits for another one keeps it from running.
KERNEL(spin)(int *lock, int *sum) {
  for (int i = 0; i < 3; i++) {
    while (atomicCAS(lock, 0, 1)) {
    }
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
REGISTER(spin);

TEST(spinning_on_an_atomic) {
  int lock = 0, sum = 0;
  run("spin", {4, 70}, &lock, &sum);
  if (sum != 4 * 70 * 3) wrong("sum %d", sum);
}

template <class T> static T mixed(unsigned lane) { return (T)(lane * 1000003u + 17); }

template <class T> DEVICE void shuffle_all(T *out, int width) {
  unsigned l = threadIdx.x;
  T v = mixed<T>(l);
  T *o = out + l * 8;
  o[0] = __shfl_sync(~0u, v, (int)(l * 7 + 3), width);
  o[1] = __shfl_xor_sync(~0u, v, 5, width);
  o[2] = __shfl_down_sync(~0u, v, 3, width);
  o[3] = __shfl_up_sync(~0u, v, 2, width);
  if (l & 1) {
    o[4] = __shfl_sync(0xaaaaaaaau, v, 9);
  } else {
    o[4] = __shfl_xor_sync(0x55555555u, v, 8);
  }
  o[5] = __shfl_sync(~0u, v, 31);
}
KERNEL(shuffle_int)(int *out, int width) { shuffle_all(out, width); }
REGISTER(shuffle_int);
KERNEL(shuffle_double)(double *out, int width) { shuffle_all(out, width); }
REGISTER(shuffle_double);

template <class T> static void check_shuffles(const char *name) {
  for (int width : {1, 2, 8, 32})
    for (uint64_t seed = 0; seed < 8; seed++) {
      std::vector<T> out(32 * 8);
      run(name, {1, 32, 0, seed}, out.data(), width);
      for (int l = 0; l < 32; l++) {
        int base = l / width * width, at = l % width;
        int source[6] = {base + (l * 7 + 3) % width, (l ^ 5) < base + width ? l ^ 5 : l, at + 3 < width ? l + 3 : l, at >= 2 ? l - 2 : l, l & 1 ? 9 : l ^ 8, 31};
        for (int i = 0; i < 6; i++)
          if (out[(size_t)(l * 8 + i)] != mixed<T>((unsigned)source[i])) wrong("%s width %d lane %d shuffle %d", name, width, l, i);
      }
    }
}
TEST(shuffles) {
  check_shuffles<int>("shuffle_int");
  check_shuffles<double>("shuffle_double");
}

KERNEL(votes)(int *out) {
  unsigned l = threadIdx.x;
  if (l >= 20) return;
  int *o = out + l * 8;
  o[0] = (int)__ballot_sync(~0u, l % 3 == 0);
  o[1] = __any_sync(~0u, l == 19);
  o[2] = __any_sync(~0u, l == 20);
  o[3] = __all_sync(~0u, l < 20);
  o[4] = __all_sync(~0u, l < 19);
  o[5] = __reduce_add_sync(~0u, (int)l - 5);
  o[6] = __reduce_max_sync(~0u, -(int)l);
  o[7] = __shfl_sync(~0u, 7, 25); // from a lane that has gone
}
REGISTER(votes);

TEST(votes) {
  std::vector<int> out(32 * 8);
  run("votes", {}, out.data());
  for (size_t l = 0; l < 20; l++) {
    const int *o = &out[l * 8], want[8] = {0x49249, 1, 0, 1, 0, 190 - 100, 0, -1};
    for (int i = 0; i < 8; i++)
      if (o[i] != want[i]) wrong("lane %zu, %d: %x instead of %x", l, i, o[i], want[i]);
  }
}

KERNEL(atomics)(uint32_t *u, int *s, uint64_t *w) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&u[0], i);
  atomicMax(&u[1], i);
  atomicMin(&u[2], i);
  atomicOr(&u[3], 1u << i % 32);
  atomicAnd(&u[4], ~(1u << i % 7));
  atomicXor(&u[5], i);
  atomicInc(&u[6], 9);
  atomicSub(&u[7], 1);
  atomicMin(&s[0], -(int)i);
  atomicMax(&s[1], -(int)i - 1);
  atomicAdd(&w[0], (uint64_t)i << 33);
  if (atomicExch(&u[8], i + 1) == 0) atomicAdd(&u[9], 1);
  if (atomicCAS(&w[1], (uint64_t)0, (uint64_t)i + 1) == 0) atomicAdd(&u[10], 1);
}
REGISTER(atomics);

TEST(atomics) {
  uint32_t u[11] = {0, 0, ~0u, 0, ~0u, 0, 0, 5000, 0, 0, 0};
  int s[2] = {0, -1000000};
  uint64_t w[2] = {0, 0};
  const uint32_t n = 1000;
  run("atomics", {10, 100}, &u[0], &s[0], &w[0]);
  uint32_t x = 0;
  for (uint32_t i = 0; i < n; i++) x ^= i;
  const uint32_t want[11] = {n * (n - 1) / 2, n - 1, 0, ~0u, ~0x7fu, x, 0, 4000, u[8], 1, 1};
  for (int i = 0; i < 11; i++)
    if (u[i] != want[i]) wrong("%d: %u instead of %u", i, u[i], want[i]);
  if (s[0] != -999 || s[1] != -1 || w[0] != (uint64_t)(n * (n - 1) / 2) << 33) wrong("64 bits or signs");
}

KERNEL_THREADS(64, fixed_size)(int *out) { out[threadIdx.x] = 1; }
REGISTER(fixed_size);

TEST(fixed_numbers_of_threads) {
  int out[128];
  run("fixed_size", {1, 64}, &out[0]);
  expect_error(start("fixed_size", {1, 128}, &out[0]), {"made for blocks of 64 threads"});
  expect_error(start("fixed_size", {1, 1025}, &out[0]), {"1 to 1024 threads"});
}
