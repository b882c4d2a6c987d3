// The twin of the plain product. Its order of sums is fixed, so a second twin in float32 must agree bit for bit.
#include "harness.h"
#include "order.cuh"

template <class T>
static void product(int rows, int n, int k, bool with_bias, int accumulate) {
  std::string kernel = named<T>("linear"), shape = text("%d x %d, K %d%s%s", rows, n, k, with_bias ? ", bias" : "", accumulate ? ", residual" : "");
  auto in = normal(size_t(rows) * k), bias = normal(n), old = normal(size_t(rows) * n);
  auto w = narrowed<T>(normal(size_t(n) * k, 1 / sqrtf(float(k))));
  std::vector<double> want(old.size());
  std::vector<float> exact(old.size());
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < n; c++) {
      double sum = 0;
      float total = 0;
      for (int from = 0; from < k; from += SEGMENT) {
        float part = 0;
        for (int i = from; i < k && i < from + SEGMENT; i++) {
          float x = in[size_t(r) * k + i], y = widen(w[size_t(c) * k + i]);
          sum += double(x) * y;
          part = fmaf(x, y, part);
        }
        total += part;
      }
      size_t at = size_t(r) * n + c;
      if (with_bias) sum += bias[c], total += bias[c];
      if (accumulate) sum += old[at], total += old[at];
      want[at] = sum;
      exact[at] = total;
    }
  const float *b = with_bias ? bias.data() : nullptr;
  unsigned tiles = unsigned(n + 31) / 32;
  for (unsigned groups : {1u, 3u}) {
    std::vector<float> out = old;
    launch(kernel.c_str(), {tiles, groups}, 256, 0, (const int32_t *)&rows, (const float *)in.data(), (const T *)w.data(), b, out.data(), n, k,
           accumulate);
    if (groups == 1) check(kernel, shape, out, want, 2e-6);
    same(kernel, shape + ": order of sums", out, exact);
  }
  int one = 1;
  std::vector<float> alone(old.end() - n, old.end());
  launch(kernel.c_str(), {tiles, 1}, 256, 0, (const int32_t *)&one, (const float *)in.data() + size_t(rows - 1) * k, (const T *)w.data(), b,
         alone.data(), n, k, accumulate);
  same(kernel, shape + ": alone", alone, std::vector<float>(exact.end() - n, exact.end()));
}

template <class T>
static void products() {
  product<T>(1, 1, 1, false, 0);
  product<T>(2, 3, 7, true, 0);
  product<T>(7, 77, 50, true, 1);
  product<T>(8, 32, 32, false, 1);
  product<T>(17, 33, 513, true, 1);
  product<T>(9, 97, 1030, false, 0);
  product<T>(1, 40, 4700, true, 1); // more segments than warps
}
TEST(linear) {
  products<f32>();
  products<f16>();
  products<bf16>();
}
