// Twins of attention on tensor cores: in double, and in the exact order.
#include "pools.h"
#include "tensor.h"

namespace {

// Half is the type of products.
template <class T>
struct HalfOf {
  using Type = T;
};
template <>
struct HalfOf<i8> {
  using Type = bf16;
};

// Segment is a softmax over some positions.
struct Segment {
  float peak = -INFINITY, total = 0;
  std::vector<float> sums;
};

// exact is the attention of a token and head, written from tensor_attention.cuh's text.
template <class T>
std::vector<float> exact(const Queries<T> &x, size_t token, int head) {
  using H = typename HalfOf<T>::Type;
  int dim = x.dim, kv = head / (x.heads / x.kv_heads), end = x.t.position[token] + 1;
  std::vector<H> q(dim);
  for (int i = 0; i < dim; i++) q[i] = narrow<H>(x.q[(token * x.heads + head) * dim + i]);
  auto halves = [&](const std::vector<T> &pool, int64_t at) {
    std::vector<H> v(dim);
    for (int i = 0; i < dim; i++) v[i] = narrow<H>(widen(pool[at * dim + i])); // exact, codes of int8 too
    return v;
  };
  Segment all;
  for (int from = 0; from < end; from += POSITIONS) {
    Segment s;
    s.sums.assign(dim, 0);
    for (int base = from; base < end && base < from + POSITIONS; base += BLOCK) {
      int n = lesser(end - base, BLOCK);
      float score[BLOCK], weight[BLOCK] = {}, highest = s.peak;
      std::vector<std::vector<H>> values(n);
      std::vector<float> value_scale(n, 1);
      for (int p = 0; p < n; p++) {
        int64_t at = x.pools.vector(x.t, x.t.row[token], base + p, kv);
        auto k = halves(x.pools.k, at);
        score[p] = chain(q.data(), k.data(), dim, 0);
        if (sizeof(T) == 1) score[p] *= x.pools.kscale[at], value_scale[p] = x.pools.vscale[at];
        score[p] *= x.scale;
        highest = fmaxf(highest, score[p]);
        values[p] = halves(x.pools.v, at);
      }
      float shrink = exp_not_positive(s.peak - highest), part[4] = {};
      s.peak = highest;
      for (int p = 0; p < n; p++) weight[p] = exp_not_positive(score[p] - s.peak);
      for (int p = 0; p < BLOCK; p++) part[p % 8 / 2] += weight[p];
      s.total = fmaf(s.total, shrink, (part[0] + part[2]) + (part[1] + part[3]));
      H w[BLOCK], v[BLOCK];
      for (int p = 0; p < BLOCK; p++) w[p] = narrow<H>(sizeof(T) == 1 && p < n ? weight[p] * value_scale[p] : weight[p]);
      for (int i = 0; i < dim; i++) {
        for (int p = 0; p < BLOCK; p++) v[p] = p < n ? values[p][i] : H{0};
        s.sums[i] = chain(w, v, BLOCK, s.sums[i] * shrink);
      }
    }
    if (from == 0) {
      all = s;
      continue;
    }
    float mine, theirs;
    merge(all.peak, all.total, s.peak, s.total, mine, theirs);
    for (int i = 0; i < dim; i++) all.sums[i] = join(all.sums[i], mine, s.sums[i], theirs);
  }
  for (float &f : all.sums) f /= all.total;
  return all.sums;
}

template <class T>
std::vector<float> exact(const Queries<T> &x) {
  std::vector<float> all;
  for (size_t i = 0; i < x.t.row.size(); i++)
    for (int h = 0; h < x.heads; h++) {
      auto one = exact(x, i, h);
      all.insert(all.end(), one.begin(), one.end());
    }
  return all;
}

int widest(int dim) { return dim <= 64 ? 64 : dim <= 128 ? 128 : 256; }

// Run starts a kernel for all tokens of a step.
template <class T>
struct Run {
  Queries<T> &x;
  int dim = widest(x.dim);

  // room is for how many segments of a token there is work; 0: for all. begin is what counters begin with.
  void decode(const Step *step, unsigned rows, unsigned splits, const float *q, void *out, int kind, size_t room = 0, int32_t begin = 0) {
    unsigned y = unsigned(x.kv_heads * ((x.heads / x.kv_heads + 15) / 16));
    size_t segments = size_t(((step->page_stride << step->page_shift) / POSITIONS) + 1);
    if (room > 0) segments = room;
    size_t queries = rows * x.heads;
    std::vector<float> work(segments * (queries * x.dim + (queries * 2 + 3) / 4 * 4), NAN);
    std::vector<int32_t> arrived(rows * y, begin), zeros(rows * y);
    launch(text("attention_decode_%s_%d", type_name<T>(), dim).c_str(), {rows, y, splits}, 128, size_t(dim) * sizeof(T) * 128 * (dim * sizeof(T) < 512 ? 3 : 2), step, q, out, kind,
           (const T *)x.pools.k.data(), (const T *)x.pools.v.data(), (const float *)x.pools.kscale.data(), (const float *)x.pools.vscale.data(), x.heads,
           x.kv_heads, x.dim, x.scale, work.data(), int(work.size()), arrived.data());
    if (begin == 0) same("attention_decode", "counters", arrived, zeros);
  }

  void prompt(const Step *step, unsigned tiles, const float *q, void *out, int kind) {
    launch(text("attention_prompt_%s_%d", type_name<T>(), dim).c_str(), {tiles, unsigned(x.kv_heads)}, 256,
           dim == 64 ? 90112 : dim == 128 ? 147456 : 163840, step, q, out, kind, (const T *)x.pools.k.data(), (const T *)x.pools.v.data(),
           (const float *)x.pools.kscale.data(), (const float *)x.pools.vscale.data(), x.heads, x.kv_heads, x.dim, x.scale);
  }

  // both computes tokens [from, to) of the step as one step.
  void both(size_t from, size_t to, float *out) {
    Tables part = x.only(from, to);
    size_t width = size_t(x.heads) * x.dim;
    prompt(part.ready(), unsigned(between(1, 5)), &x.q[from * width], out, 0);
    decode(part.ready(), unsigned(to - from + 1), 1, &x.q[from * width], out, 0);
  }
};

template <class T>
void decodes(Queries<T> x, double limit) {
  Run<T> run{x};
  std::string kernel = text("attention_decode_%s_%d", type_name<T>(), run.dim);
  size_t rows = x.t.row.size(), width = size_t(x.heads) * x.dim;
  auto want = exact(x);
  for (unsigned splits : {1u, 2u, 5u}) {
    std::vector<float> out(x.q.size(), 7);
    run.decode(x.t.ready(), unsigned(rows + 1), splits, x.q.data(), out.data(), 0, splits == 5 ? 2 : 0);
    if (splits == 1 && emu::architecture == 90) check(kernel, x.shape, out, x.want(), limit);
    same(kernel, x.shape + text(": order of sums, %u splits", splits), out, want);
  }
  // With a counter that begins too low no block is the last one, so no thread may write a token of several blocks.
  std::vector<float> out(x.q.size(), 7), only = want;
  for (size_t i = 0; i < rows; i++)
    if (x.t.position[i] >= POSITIONS) std::fill_n(only.begin() + i * width, width, 7.0f);
  run.decode(x.t.ready(), unsigned(rows + 1), 2, x.q.data(), out.data(), 0, 0, -1);
  same(kernel, x.shape + ": no last block", out, only);
  // Rounded for the next product, one token only.
  std::vector<bf16> half(width), rounded;
  Tables last = x.only(rows - 1, rows);
  run.decode(last.ready(), 1, 1, &x.q[(rows - 1) * width], half.data(), 1);
  for (size_t i = 0; i < width; i++) rounded.push_back(narrow<bf16>(want[(rows - 1) * width + i]));
  same(kernel, x.shape + ": rounded", half, rounded);
}

template <class T>
void decode() {
  double limit = __is_same(T, f16) ? 2e-3 : 2e-2;
  decodes(Queries<T>(3, 3, 8, 0, {1, 2, 63}, {1}), limit);
  decodes(Queries<T>(6, 2, 24, 4, {64, 65, 130}, {1}), limit);
  decodes(Queries<T>(20, 1, 64, 6, {511, 512, 513, 1024}, {1}), limit);
  decodes(Queries<T>(8, 2, 128, 4, {2100, 33}, {1}), limit);
  decodes(Queries<T>(2, 2, 256, 6, {2100, 100}, {1}), limit);
  Queries<T> rising(2, 1, 8, 4, {16900, 4200}, {1}); // K is largest in the 33rd segment
  for (int p = 32 * POSITIONS; p < 33 * POSITIONS; p++) {
    int64_t at = rising.pools.vector(rising.t, 0, p, 0);
    if constexpr (sizeof(T) == 1) {
      rising.pools.kscale[at] *= 2;
    } else {
      for (int i = 0; i < 8; i++) rising.pools.k[at * 8 + i] = narrow<T>(2 * widen(rising.pools.k[at * 8 + i]));
    }
  }
  decodes(rising, limit);
}
TEST(attention_decode) {
  for (int architecture : architectures()) {
    emu::architecture = architecture;
    decode<f16>();
    decode<bf16>();
    decode<i8>();
  }
}

// The smallest problem of two blocks, for the race detector, which is slow.
TEST(decode_two_blocks) {
  Queries<f16> x(1, 1, 8, 4, {600}, {1});
  std::vector<float> out(x.q.size());
  Run<f16>{x}.decode(x.t.ready(), 1, 2, x.q.data(), out.data(), 0);
  same("attention_decode_f16_64", "two blocks", out, exact(x));
}

// What is wrong with a token's K and V.
enum Broken { no, last_is_nan, middle_is_infinite, block_is_infinite };

template <class T>
void prompts(Queries<T> x, double limit, Broken broken = no) {
  Run<T> run{x};
  std::string kernel = text("attention_prompt_%s_%d", type_name<T>(), run.dim);
  size_t rows = x.t.row.size(), width = size_t(x.heads) * x.dim;
  if constexpr (sizeof(T) == 2) if (broken) {
    // The last token of the first row has K and V that are not finite: no earlier token may notice. Or one in the middle,
    // or the first block, has a K whose scores are infinite.
    size_t last = 0;
    while (last + 1 < rows && x.t.row[last + 1] == 0) last++;
    int position = x.t.position[last], from = broken == last_is_nan ? position : broken == middle_is_infinite ? position / 2 : 0;
    for (int p = from; p <= (broken == block_is_infinite ? BLOCK - 1 : from); p++)
      for (int h = 0; h < x.kv_heads; h++) {
        int64_t at = x.pools.vector(x.t, 0, p, h);
        for (int i = 0; i < x.dim; i++) {
          x.pools.k[at * x.dim + i] = narrow<T>(broken == last_is_nan ? NAN : i == 0 ? INFINITY : 0);
          if (broken == last_is_nan) x.pools.v[at * x.dim + i] = narrow<T>(i % 2 ? INFINITY : NAN);
        }
      }
  }
  auto want = exact(x);
  std::vector<float> out(x.q.size(), 7), chunks = out;
  run.both(0, rows, out.data());
  std::vector<double> wide = x.want();
  if (!broken && emu::architecture == 90) check(kernel, x.shape, out, wide, limit);
  for (size_t from = 0; from < rows;) {
    size_t to = std::min<size_t>(rows, from + size_t(between(1, 40)));
    run.both(from, to, &chunks[from * width]);
    from = to;
  }
  if (broken) {
    auto nan_is_nan = [](std::vector<float> &v) {
      for (float &f : v) f = isnan(f) ? NAN : f;
    };
    nan_is_nan(out), nan_is_nan(chunks), nan_is_nan(want);
  }
  same(kernel, x.shape + ": order of sums", out, want);
  same(kernel, x.shape + ": in chunks", chunks, want);
}

template <class T>
void prompt() {
  double limit = __is_same(T, f16) ? 2e-3 : 2e-2;
  prompts(Queries<T>(3, 3, 8, 0, {1, 2, 63}, {63}), limit);
  prompts(Queries<T>(6, 2, 24, 4, {64, 65, 40, 130}, {30, 1}), limit);
  prompts(Queries<T>(40, 2, 64, 6, {513, 40}, {7}), limit);
  prompts(Queries<T>(4, 2, 128, 4, {1030, 33}, {20, 33}), limit);
  prompts(Queries<T>(2, 2, 256, 6, {530, 100}, {40, 1}), limit);
  if constexpr (sizeof(T) == 2) {
    prompts(Queries<T>(4, 2, 128, 4, {90, 20}, {90, 1}), limit, last_is_nan);
    prompts(Queries<T>(4, 2, 128, 4, {90, 20}, {90, 1}), limit, middle_is_infinite);
    prompts(Queries<T>(4, 2, 128, 4, {90, 20}, {90, 1}), limit, block_is_infinite);
    prompts(Queries<T>(2, 1, 136, 4, {70, 20}, {70, 1}), limit, last_is_nan);
  }
}
TEST(attention_prompt) {
  for (int architecture : architectures()) {
    emu::architecture = architecture;
    prompt<f16>();
    prompt<bf16>();
    prompt<i8>();
  }
}

} // namespace
