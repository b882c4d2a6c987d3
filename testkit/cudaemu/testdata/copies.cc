// cp.async, mbarriers, TMA: what they do, and how late.
#include "test.h"

#include <string.h>

// late looks at the target before and after each wait.
KERNEL(late)(const float *from, float *out) {
  SHARED(float, box, [4][32][4]);
  unsigned t = threadIdx.x;
  for (int i = 0; i < 3; i++) {
    cp_async16(box[i][t], from + (i * 32 + (int)t) * 4, i != 2 || t % 2);
    cp_async_commit();
  }
  cp_async4(&box[3][t][0], from + t);
  cp_async8(&box[3][t][2], from + 2 * t);
  float *o = out + t * 12;
  o[0] = box[0][t][1];
  cp_async_wait<2>();
  o[1] = box[0][t][1], o[2] = box[1][t][1];
  cp_async_wait<1>();
  o[3] = box[1][t][1], o[4] = box[2][t][1];
  cp_async_wait<0>();
  o[5] = box[2][t][1], o[6] = box[3][t][0];
  cp_async_wait_all();
  o[7] = box[3][t][0], o[8] = box[3][t][2], o[9] = box[3][t][3];
}
REGISTER(late);

TEST(copies_complete_at_the_wait) {
  std::vector<float> from(3 * 32 * 4), out(32 * 12);
  for (size_t i = 0; i < from.size(); i++) from[i] = (float)i;
  for (bool early : {false, true}) {
    if (early && emu::race::on) continue; // which knows late copies only
    run("late", {1, 32, 0, 1, early}, from.data(), out.data());
    for (size_t t = 0; t < 32; t++) {
      const float *o = &out[t * 12];
      float first = from[t * 4 + 1], second = from[128 + t * 4 + 1], third = t % 2 ? from[256 + t * 4 + 1] : 0;
      float want[10] = {first, first, second, second, third, third, from[t], from[t], from[2 * t], from[2 * t + 1]};
      for (int i = 0; i < 10; i++) {
        bool before = i == 0 || i == 2 || i == 4 || i == 6;
        if (before && !early ? !isnan(o[i]) : o[i] != want[i]) wrong("early %d, lane %zu, look %d: %g", early, t, i, (double)o[i]);
      }
    }
  }
}

// source is changed after the copy was issued: the late copy sees the change.
KERNEL(source)(float *from, float *out) {
  SHARED(float, box, [4]);
  cp_async16(box, from);
  cp_async_commit();
  from[0] = 2;
  cp_async_wait<0>();
  out[0] = box[0];
}
REGISTER(source);

TEST(copies_read_late) {
  alignas(16) float from[4] = {1};
  float out;
  run("source", {1, 1}, &from[0], &out);
  if (out != 2) wrong("%g", (double)out);
}

KERNEL(copy_wrong)(const char *from, int how) {
  DYNAMIC_SHARED(s);
  char local[16];
  if (how == 0) cp_async16(s + 8, from);
  if (how == 1) cp_async16(s, from + 4);
  if (how == 2) cp_async16((void *)(((uintptr_t)local + 15) & ~(uintptr_t)15), from);
}
REGISTER(copy_wrong);

TEST(errors_of_copies) {
  alignas(16) char from[32] = {};
  expect_error(start("copy_wrong", {1, 1, 64}, (const char *)from, 0), {"cp.async of 16 bytes", "not aligned"});
  expect_error(start("copy_wrong", {1, 1, 64}, (const char *)from, 1), {"cp.async of 16 bytes", "not aligned"});
  expect_error(start("copy_wrong", {1, 1, 64}, (const char *)from, 2), {"cp.async", "not in shared memory"});
}

// ring passes n blocks through a ring of mbarriers: one warp copies with TMA, the
// others add up. Arrivals: full 1 and bytes, empty one for each consumer warp.
KERNEL(ring)(const float *from, float *out, int n) {
  SHARED(uint64_t, full, [3]);
  SHARED(uint64_t, empty, [3]);
  DYNAMIC_SHARED(s);
  unsigned t = threadIdx.x, w = t / 32;
  if (t == 0) {
    for (int i = 0; i < 3; i++) {
      mbarrier_init(&full[i], 1);
      mbarrier_init(&empty[i], 3);
    }
    mbarrier_fence_init();
  }
  __syncthreads();
  if (w == 0) {
    if (t == 0)
      for (int i = 0; i < n; i++) {
        int at = i % 3;
        mbarrier_wait(&empty[at], (unsigned)(i / 3 & 1) ^ 1);
        mbarrier_expect_tx(&full[at], 96 * 4);
        tma_load_bulk(s + at * 512, from + i * 96, 64 * 4, &full[at]);
        tma_load_bulk(s + at * 512 + 256, from + i * 96 + 64, 32 * 4, &full[at]);
      }
    return;
  }
  float sum = 0;
  for (int i = 0; i < n; i++) {
    int at = i % 3;
    while (!mbarrier_try_wait(&full[at], (unsigned)(i / 3 & 1))) nanosleep(20);
    sum += (float)(i + 1) * ((const float *)(s + at * 512))[95 - (t - 32)];
    __syncwarp();
    if (t % 32 == 0) mbarrier_arrive(&empty[at]);
  }
  out[t - 32] = sum;
}
REGISTER(ring);

TEST(ring_of_mbarriers) {
  const int n = 17;
  std::vector<float> from(96 * n + 4), out(96);
  float *start = (float *)(((uintptr_t)from.data() + 15) & ~(uintptr_t)15);
  for (int i = 0; i < 96 * n; i++) start[i] = (float)(i * 7 % 101);
  for (uint64_t seed = 0; seed < 24; seed++) {
    run("ring", {1, 128, 1536, seed, emu::early_by_seed(seed)}, (const float *)start, out.data(), n);
    for (int t = 0; t < 96; t++) {
      float want = 0;
      for (int i = 0; i < n; i++) want += (float)(i + 1) * start[i * 96 + 95 - t];
      if (out[(size_t)t] != want) wrong("seed %d, thread %d: %g instead of %g", (int)seed, t, (double)out[(size_t)t], (double)want);
    }
  }
}

// after arrives at an mbarrier when the thread's cp.async are done.
KERNEL(after)(const float *from, float *out) {
  SHARED(uint64_t, done, [1]);
  SHARED(float, box, [64][4]);
  unsigned t = threadIdx.x;
  if (t == 0) mbarrier_init(done, 64);
  __syncthreads();
  cp_async16(box[t], from + t * 4);
  cp_async_mbarrier_arrive(done);
  mbarrier_wait(done, 0);
  out[t] = box[63 - t][3];
}
REGISTER(after);

TEST(mbarrier_after_copies) {
  alignas(16) float from[256];
  float out[64];
  for (int i = 0; i < 256; i++) from[i] = (float)i;
  for (uint64_t seed = 0; seed < 8; seed++) {
    run("after", {1, 64, 0, seed, emu::early_by_seed(seed)}, (const float *)&from[0], &out[0]);
    for (int t = 0; t < 64; t++)
      if (out[t] != (float)((63 - t) * 4 + 3)) wrong("thread %d: %g", t, (double)out[t]);
  }
}

// tile copies a tile of a matrix of 16-bit elements and undoes the swizzle.
KERNEL(tile)(const TensorMap *map, uint16_t *out, int x, int y, int rows, int columns, int swizzle, int look) {
  DYNAMIC_SHARED(raw);
  SHARED(uint64_t, full, [1]);
  unsigned char *s = (unsigned char *)(((uintptr_t)raw + 1023) & ~(uintptr_t)1023);
  if (threadIdx.x == 0) {
    mbarrier_init(full, 1);
    mbarrier_fence_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_expect_tx(full, (unsigned)(rows * columns * 2));
    tma_load_2d(s, map, full, x, y);
  }
  if (!look) mbarrier_wait(full, 0);
  for (int i = (int)threadIdx.x; i < rows * columns; i += 32) {
    int r = i / columns, c = i % columns, span = columns * 2;
    int unit = c / 8;
    // By rows: the unit of 16 bytes is flipped by the row's number, counted in
    // rows of 128 bytes.
    int line = (r * span) / 128;
    if (swizzle == 128) unit ^= line % 8;
    if (swizzle == 64) unit = (unit ^ (line % 4));
    if (swizzle == 32) unit = (unit ^ (line % 2));
    out[i] = *(uint16_t *)(s + r * span + unit * 16 + c % 8 * 2);
  }
}
REGISTER(tile);

static TensorMap tile_map(const uint16_t *base, uint64_t width, uint64_t height, uint32_t columns, uint32_t rows, uint32_t swizzle, uint32_t fill) {
  emu::Tiles t{};
  t.mark = emu::tensor_mark;
  t.base = (const unsigned char *)base;
  t.rank = 2;
  t.element = 2;
  t.swizzle = swizzle;
  t.fill = fill;
  t.box[0] = columns, t.box[1] = rows;
  t.size[0] = width, t.size[1] = height;
  t.stride[0] = (uint32_t)(width * 2 / 16);
  TensorMap m{};
  memcpy(&m, &t, sizeof t);
  return m;
}

TEST(tiles_by_tma) {
  const int width = 200, height = 50;
  std::vector<uint16_t> matrix(width * height);
  for (size_t i = 0; i < matrix.size(); i++) matrix[i] = (uint16_t)(i + 1);
  for (int swizzle : {0, 32, 64, 128})
    for (auto [x, y] : {std::pair{0, 0}, {64, 8}, {-8, -3}, {184, 40}, {8, 49}})
      for (uint32_t fill : {0u, 1u}) {
        int columns = swizzle ? swizzle / 2 : 40, rows = 16;
        TensorMap m = tile_map(matrix.data(), width, height, (uint32_t)columns, (uint32_t)rows, (uint32_t)swizzle, fill);
        std::vector<uint16_t> out((size_t)(rows * columns));
        run("tile", {1, 32, 8192, 3}, (const TensorMap *)&m, out.data(), x, y, rows, columns, swizzle, 0);
        for (int i = 0; i < rows * columns; i++) {
          int r = y + i / columns, c = x + i % columns;
          uint16_t want = r >= 0 && r < height && c >= 0 && c < width ? matrix[(size_t)(r * width + c)] : fill ? 0xffff : 0;
          if (out[(size_t)i] != want) wrong("swizzle %d at %d, %d, element %d: %d instead of %d", swizzle, x, y, i, out[(size_t)i], want);
        }
      }
  // Without the wait, the memory is as it was.
  TensorMap m = tile_map(matrix.data(), width, height, 64, 16, 128, 0);
  std::vector<uint16_t> out(1024, 0xffff);
  start("tile", {1, 32, 8192, 3}, (const TensorMap *)&m, out.data(), 0, 0, 16, 64, 128, 1);
  for (uint16_t v : out)
    if (v != 0xffff) wrong("the tile is there before the wait");
  TensorMap none{};
  expect_error(start("tile", {1, 32, 8192, 3}, (const TensorMap *)&none, out.data(), 0, 0, 16, 64, 128, 0), {"not a tensor map"});
  emu::architecture = 80;
  expect_error(start("tile", {1, 32, 8192, 3}, (const TensorMap *)&m, out.data(), 0, 0, 16, 64, 128, 0), {"compute capability 9.0"});
}
