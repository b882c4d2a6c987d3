// Pools of K and V for tests of attention.
#pragma once
#include "harness.h"

// Pools are K and V of one layer. All of it is NaN, or scales are, until something is stored.
template <class T>
struct Pools {
  int kv_heads, dim;
  std::vector<T> k, v;
  std::vector<float> kscale, vscale;

  Pools(const Tables &t, int kv_heads, int dim) : kv_heads(kv_heads), dim(dim), k(size_t(t.slots()) * kv_heads * dim), v(k.size()) {
    memset((void *)k.data(), 0xff, k.size() * sizeof(T));
    memset((void *)v.data(), 0xff, v.size() * sizeof(T));
    if (sizeof(T) == 1) {
      kscale.assign(size_t(t.slots()) * kv_heads, NAN);
      vscale = kscale;
    }
  }
  void store(Tables &t, const std::vector<float> &keys, const std::vector<float> &values) {
    launch(named<T>("store_kv").c_str(), {unsigned(t.row.size() + 1), unsigned(kv_heads)}, 64, 0, t.ready(), (const float *)keys.data(),
           (const float *)values.data(), k.data(), v.data(), kscale.data(), vscale.data(), kv_heads, dim);
  }
  // vector is the index of the K or V of a position and head.
  int64_t vector(const Tables &t, int row, int position, int head) const {
    int64_t slot = t.slot(row, position);
    return ((slot >> t.page_shift) * kv_heads + head) * (1 << t.page_shift) + (slot & ((1 << t.page_shift) - 1));
  }
  double key(int64_t at, int i) const { return read(k, kscale, at, i); }
  double value(int64_t at, int i) const { return read(v, vscale, at, i); }

private:
  double read(const std::vector<T> &x, const std::vector<float> &scale, int64_t at, int i) const {
    if (sizeof(T) == 1) return scale[at] * float(widen(x[at * dim + i]));
    return widen(x[at * dim + i]);
  }
};

// Queries is a test of attention: contexts, one a row of the table, of which the last tokens are computed.
template <class T>
struct Queries {
  int heads, kv_heads, dim;
  float scale;
  Tables t;
  Pools<T> pools;
  std::vector<float> q; // [tokens][heads][dim]
  std::string shape;

  Queries(int heads, int kv_heads, int dim, int page_shift, const std::vector<int> &contexts, const std::vector<int> &tokens)
      : heads(heads), kv_heads(kv_heads), dim(dim), scale(1 / sqrtf(float(dim))), t(page_shift, contexts), pools(t, kv_heads, dim),
        shape(text("%d heads, %d KV, of %d, pages of %d, contexts", heads, kv_heads, dim, 1 << page_shift)) {
    Tables all = t;
    for (size_t r = 0; r < contexts.size(); r++) {
      int n = tokens[r % tokens.size()];
      shape += n == 1 ? text(" %d", contexts[r]) : text(" %d (%d)", contexts[r], n);
      for (int p = 0; p < contexts[r]; p++) all.token(int(r), p);
      for (int p = contexts[r] > n ? contexts[r] - n : 0; p < contexts[r]; p++) t.token(int(r), p);
    }
    size_t width = size_t(kv_heads) * dim;
    auto keys = normal(all.row.size() * width), values = normal(all.row.size() * width);
    pools.store(all, keys, values);
    q = normal(t.row.size() * heads * dim);
  }

  // want is the attention of a token and head in double.
  std::vector<double> want() const {
    std::vector<double> all(q.size());
    for (size_t i = 0; i < t.row.size(); i++)
      for (int h = 0; h < heads; h++) {
        const float *query = &q[(i * heads + h) * dim];
        int n = t.position[i] + 1, kv = h / (heads / kv_heads);
        std::vector<double> score(n), acc(dim);
        double highest = -1e300, total = 0;
        for (int p = 0; p < n; p++) {
          int64_t at = pools.vector(t, t.row[i], p, kv);
          for (int j = 0; j < dim; j++) score[p] += query[j] * pools.key(at, j);
          score[p] *= scale;
          highest = fmax(highest, score[p]);
        }
        for (int p = 0; p < n; p++) {
          int64_t at = pools.vector(t, t.row[i], p, kv);
          double e = exp(score[p] - highest);
          total += e;
          for (int j = 0; j < dim; j++) acc[j] += e * pools.value(at, j);
        }
        for (int j = 0; j < dim; j++) all[(i * heads + h) * dim + j] = acc[j] / total;
      }
    return all;
  }

  // only is a step with some of the tokens.
  Tables only(size_t from, size_t to) const {
    Tables part = t;
    part.row.assign(t.row.begin() + from, t.row.begin() + to);
    part.position.assign(t.position.begin() + from, t.position.begin() + to);
    return part;
  }
};
