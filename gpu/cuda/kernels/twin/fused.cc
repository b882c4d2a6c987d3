// Kernels that do the work of several must give the bits of those.
#include "pools.h"

template <class T>
static void rounds(int rows, int width, int stride) {
  std::string type = type_name<T>(), shape = text("%d x %d in rows of %d", rows, width, stride);
  auto in = normal(size_t(rows) * width), up = normal(size_t(rows) * width), gain = normal(width);
  std::vector<float> normed(in.size()), gated(in.size());
  unsigned threads = width <= 512 ? 32 : 256, grid = unsigned(rows) + 1;
  launch("rmsnorm", {grid, 1}, threads, 0, (const int32_t *)&rows, (const float *)in.data(), (const float *)gain.data(), normed.data(), width,
         width, 1e-5f);
  launch("silu_mul", {grid, 1}, 64, 0, (const int32_t *)&rows, (const float *)in.data(), (const float *)up.data(), gated.data(), width);
  auto rounded = [&](const std::vector<float> &x) {
    std::vector<uint16_t> y(size_t(rows) * stride);
    for (int r = 0; r < rows; r++)
      for (int i = 0; i < width; i++) y[r * stride + i] = narrow<T>(x[r * width + i]).bits;
    return y;
  };
  std::vector<uint16_t> out(size_t(rows) * stride, 0xffff);
  launch(("round_" + type).c_str(), {grid, 2}, 64, 0, (const int32_t *)&rows, (const float *)in.data(), (T *)out.data(), width, stride);
  same("round_" + type, shape, out, rounded(in));
  out.assign(out.size(), 0xffff);
  launch(("rmsnorm_round_" + type).c_str(), {grid}, threads, 0, (const int32_t *)&rows, (const float *)in.data(), (const float *)gain.data(),
         (T *)out.data(), width, stride, 1e-5f);
  same("rmsnorm_round_" + type, shape, out, rounded(normed));
  out.assign(out.size(), 0xffff);
  launch(("silu_mul_round_" + type).c_str(), {grid, 3}, 32, 0, (const int32_t *)&rows, (const float *)in.data(), (const float *)up.data(),
         (T *)out.data(), width, stride);
  same("silu_mul_round_" + type, shape, out, rounded(gated));
  for (const char *k : {"round_", "rmsnorm_round_", "silu_mul_round_"}) check(k + type, shape, nullptr, nullptr, 0, 0);
}
TEST(round) {
  rounds<bf16>(3, 33, 40);
  rounds<bf16>(2, 1028, 1088);
  rounds<f16>(3, 64, 64);
  rounds<f16>(2, 515, 520);
}

template <class T>
static void rope_and_store(int heads, int kv_heads, int dim, int half) {
  std::string kernel = named<T>("rope_store_kv"), shape = text("%d heads, %d KV, of %d, %d pairs", heads, kv_heads, dim, half);
  Tables t(2, {50, 9});
  for (int p : {0, 49, 7}) t.token(0, p);
  t.token(1, 8);
  unsigned rows = unsigned(t.row.size());
  auto q = normal(rows * heads * dim), k = normal(rows * kv_heads * dim), v = normal(rows * kv_heads * dim), table = normal(50 * half * 2);
  auto q2 = q, k2 = k;
  Pools<T> want(t, kv_heads, dim), got = want;
  const float *angles = table.data();
  launch("rope", {rows, 1}, 64, 0, t.ready(), q.data(), angles, heads * dim, dim, half, 1.25f);
  launch("rope", {rows, 1}, 64, 0, t.ready(), k.data(), angles, kv_heads * dim, dim, half, 1.25f);
  want.store(t, k, v);
  launch(kernel.c_str(), {rows + 2, unsigned(heads + 2 * kv_heads + 7) / 8}, 256, 0, t.ready(), q2.data(), k2.data(), (const float *)v.data(), angles,
         got.k.data(), got.v.data(), got.kscale.data(), got.vscale.data(), heads, kv_heads, dim, half, 1.25f);
  same(kernel, shape + ": Q", q2, q);
  same(kernel, shape + ": K", got.k.data(), want.k.data(), want.k.size() * sizeof(T));
  same(kernel, shape + ": V", got.v.data(), want.v.data(), want.v.size() * sizeof(T));
  same(kernel, shape + ": scales", got.kscale, want.kscale);
  same(kernel, shape + ": scales", got.vscale, want.vscale);
  check(kernel, shape, nullptr, nullptr, 0, 0);
}
TEST(rope_store_kv) {
  rope_and_store<f32>(3, 3, 7, 3);
  rope_and_store<f16>(6, 2, 10, 5);
  rope_and_store<bf16>(5, 1, 24, 8);
  rope_and_store<i8>(2, 1, 128, 64);
}
