// Twins of store_kv and attention.
#include "pools.h"

// quantise is QuantizeI8 of package gpu/ref, written anew.
static void quantise(const float *x, int n, int8_t *q, float *scale) {
  float most = 0;
  bool finite = true;
  for (int i = 0; i < n; i++) {
    finite = finite && isfinite(x[i]);
    if (fabsf(x[i]) > most) most = fabsf(x[i]);
  }
  for (int i = 0; i < n; i++) q[i] = 0;
  *scale = 0;
  if (!finite) {
    *scale = NAN;
  } else if (most >= 0x1p-119f) {
    float factor = 127 / most;
    for (int i = 0; i < n; i++) q[i] = int8_t(nearbyint(double(x[i] * factor)));
    *scale = most / 127;
  }
}

template <class T>
static void stores(int kv_heads, int dim, int page_shift) {
  std::string kernel = named<T>("store_kv"), shape = text("%d heads of %d, pages of %d", kv_heads, dim, 1 << page_shift);
  Tables t(page_shift, {40, 70});
  for (int p : {0, 39, 5}) t.token(0, p);
  for (int p : {69, 1}) t.token(1, p);
  size_t width = size_t(kv_heads) * dim;
  auto keys = normal(t.row.size() * width, 3), values = normal(t.row.size() * width);
  keys[0] = INFINITY;              // int8: the vector reads back as NaN
  for (int i = 0; i < dim; i++) values[i] = i == 0 ? 1e-40f : 0; // and this one as zeros
  values[width] = NAN;
  Pools<T> pools(t, kv_heads, dim), want = pools;
  pools.store(t, keys, values);
  for (size_t i = 0; i < t.row.size(); i++)
    for (int h = 0; h < kv_heads; h++) {
      int64_t at = want.vector(t, t.row[i], t.position[i], h);
      const float *k = &keys[i * width + h * dim], *v = &values[i * width + h * dim];
      if constexpr (sizeof(T) == 1) {
        quantise(k, dim, &want.k[at * dim], &want.kscale[at]);
        quantise(v, dim, &want.v[at * dim], &want.vscale[at]);
      } else {
        for (int j = 0; j < dim; j++) want.k[at * dim + j] = narrow<T>(k[j]), want.v[at * dim + j] = narrow<T>(v[j]);
      }
    }
  same(kernel, shape + ": K", pools.k.data(), want.k.data(), want.k.size() * sizeof(T));
  same(kernel, shape + ": V", pools.v.data(), want.v.data(), want.v.size() * sizeof(T));
  for (size_t i = 0; i < want.kscale.size(); i++) {
    expect(kernel, shape + ": scale of K", pools.kscale[i] == want.kscale[i] || (isnan(pools.kscale[i]) && isnan(want.kscale[i])));
    expect(kernel, shape + ": scale of V", pools.vscale[i] == want.vscale[i] || (isnan(pools.vscale[i]) && isnan(want.vscale[i])));
  }
  check(kernel, shape, nullptr, nullptr, 0, 0);
}
TEST(store_kv) {
  for (int dim : {7, 24, 128}) {
    stores<f32>(2, dim, 0);
    stores<f16>(3, dim, 4);
    stores<bf16>(1, dim, 6);
    stores<i8>(2, dim, 4);
  }
}

template <class T>
static void attends(Queries<T> x) {
  std::string kernel = named<T>("attention");
  auto run = [&](const Step *step, unsigned rows, const float *queries, float *to) {
    launch(kernel.c_str(), {rows, unsigned(x.heads)}, 128, 0, step, queries, to, (const T *)x.pools.k.data(), (const T *)x.pools.v.data(),
           (const float *)x.pools.kscale.data(), (const float *)x.pools.vscale.data(), x.heads, x.kv_heads, x.dim, x.scale);
  };
  size_t rows = x.t.row.size(), width = size_t(x.heads) * x.dim;
  std::vector<float> out(x.q.size());
  run(x.t.ready(), unsigned(rows + 2), x.q.data(), out.data());
  check(kernel, x.shape, out, x.want(), 2e-6);
  // The first and the last token alone: as a decode step, or as chunks of one.
  for (size_t i : {size_t(0), rows - 1}) {
    Tables one = x.only(i, i + 1);
    std::vector<float> alone(width);
    run(one.ready(), 1, &x.q[i * width], alone.data());
    same(kernel, x.shape + ": alone", alone.data(), &out[i * width], width * sizeof(float));
  }
}

template <class T>
static void attention() {
  attends(Queries<T>(3, 3, 7, 0, {1, 2, 63}, {2}));
  attends(Queries<T>(6, 2, 10, 4, {64, 65, 130}, {3}));
  attends(Queries<T>(5, 1, 24, 6, {511, 512, 513}, {2}));
  attends(Queries<T>(2, 1, 128, 4, {1024, 33}, {1}));
  attends(Queries<T>(2, 2, 256, 6, {100}, {2}));
  attends(Queries<T>(1, 1, 8, 0, {1500, 2600}, {1}));
}
TEST(attention) {
  attention<f32>();
  attention<f16>();
  attention<bf16>();
  attention<i8>();
}
