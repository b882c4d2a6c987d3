// Twins of the kernels that work on rows: embed, gather, rmsnorm, rope, silu_mul, and the page table.
#include "harness.h"

template <class T>
static void embed() {
  std::string kernel = named<T>("embed");
  for (int width : {1, 33, 300}) {
    int vocab = 9, rows = 6;
    auto table = narrowed<T>(normal(size_t(vocab) * width));
    Tables t(0, {4, 4});
    for (int id : {0, 8, -1, 3, -1, -1}) t.token(int(t.id.size()) % 2, 0, id);
    t.sampled = {5, 100}; // row 1 sampled nothing that exists
    std::vector<float> out(size_t(rows) * width, 7), want;
    launch(kernel.c_str(), {unsigned(rows + 2), 2}, 64, 0, t.ready(vocab), table.data(), out.data(), width);
    for (int id : {0, 8, 5, 3, 5, 0})
      for (int i = 0; i < width; i++) want.push_back(widen(table[size_t(id) * width + i]));
    same(kernel, text("width %d", width), out, want);
  }
  check(kernel, "widths 1, 33, 300", nullptr, nullptr, 0, 0);
}
TEST(embed) {
  embed<f32>();
  embed<f16>();
  embed<bf16>();
}

TEST(gather) {
  for (int width : {1, 50, 257}) {
    Tables t(0, {9});
    for (int i = 0; i < 9; i++) t.token(0, i);
    t.output = {8, 0, 3};
    auto in = normal(size_t(9) * width);
    std::vector<float> out(size_t(3) * width), want;
    launch("gather", {5, 3}, 32, 0, t.ready(), in.data(), out.data(), width);
    for (int o : t.output) want.insert(want.end(), in.begin() + o * width, in.begin() + (o + 1) * width);
    same("gather", text("width %d", width), out, want);
  }
  check("gather", "widths 1, 50, 257", nullptr, nullptr, 0, 0);
}

TEST(rmsnorm) {
  struct Shape {
    int rows, width, group;
  };
  for (Shape s : {Shape{3, 8, 8}, {5, 33, 33}, {4, 240, 24}, {3, 70, 10}, {2, 1024, 128}, {3, 513, 513}, {2, 1030, 1030}, {2, 4096, 4096}}) {
    unsigned threads = s.group <= 512 ? 32 : 256;
    auto in = normal(size_t(s.rows) * s.width), gain = normal(s.group);
    float eps = 1e-6f;
    std::vector<float> out(in.size()), padded = in;
    std::vector<double> want(in.size());
    for (size_t g = 0; g < in.size(); g += s.group) {
      double sum = 0;
      for (int i = 0; i < s.group; i++) sum += double(in[g + i]) * in[g + i];
      for (int i = 0; i < s.group; i++) want[g + i] = in[g + i] / sqrt(sum / s.group + eps) * gain[i];
    }
    launch("rmsnorm", {unsigned(s.rows), unsigned(s.width / s.group)}, threads, 0, (const int32_t *)&s.rows, in.data(), gain.data(), out.data(),
           s.width, s.group, eps);
    check("rmsnorm", text("%d x %d, group %d", s.rows, s.width, s.group), out, want, 5e-7);
    // In place, in a padded grid.
    launch("rmsnorm", {unsigned(s.rows + 3), unsigned(s.width / s.group)}, threads, 0, (const int32_t *)&s.rows, padded.data(), gain.data(),
           padded.data(), s.width, s.group, eps);
    same("rmsnorm", "in place", padded, out);
    int one = 1;
    std::vector<float> alone(s.width);
    launch("rmsnorm", {1, unsigned(s.width / s.group)}, threads, 0, (const int32_t *)&one, in.data() + in.size() - s.width, gain.data(),
           alone.data(), s.width, s.group, eps);
    same("rmsnorm", "alone", alone, std::vector<float>(out.end() - s.width, out.end()));
  }
}

TEST(rope) {
  struct Shape {
    int heads, dim, half;
    float scale;
  };
  for (Shape s : {Shape{1, 2, 1, 1}, {3, 7, 3, 1}, {6, 10, 5, 1}, {5, 24, 8, 1.5f}, {2, 128, 64, 1}, {1, 256, 128, 1}}) {
    int context = 40, width = s.heads * s.dim;
    std::vector<float> angles(size_t(context) * s.half * 2);
    for (int p = 0; p < context; p++)
      for (int j = 0; j < s.half; j++) {
        double a = p * pow(10000, -double(j) / s.half);
        angles[(p * s.half + j) * 2] = float(cos(a));
        angles[(p * s.half + j) * 2 + 1] = float(sin(a));
      }
    Tables t(0, {context});
    for (int p : {0, 39, 17, 1}) t.token(0, p);
    auto x = normal(size_t(4) * width), before = x;
    std::vector<double> want(x.begin(), x.end());
    for (int i = 0; i < 4; i++)
      for (int h = 0; h < s.heads; h++)
        for (int j = 0; j < s.half; j++) {
          size_t a = size_t(i) * width + h * s.dim + j, b = a + s.half;
          double c = angles[(t.position[i] * s.half + j) * 2], n = angles[(t.position[i] * s.half + j) * 2 + 1];
          want[a] = (double(before[a]) * c - double(before[b]) * n) * s.scale;
          want[b] = (double(before[b]) * c + double(before[a]) * n) * s.scale;
        }
    launch("rope", {6, 2}, 64, 0, t.ready(), x.data(), (const float *)angles.data(), width, s.dim, s.half, s.scale);
    check("rope", text("%d heads of %d, %d pairs", s.heads, s.dim, s.half), x, want, 2e-7);
  }
}

TEST(silu_mul) {
  for (int width : {1, 77, 1000}) {
    int rows = 3;
    auto gate = normal(size_t(rows) * width, 4), up = normal(size_t(rows) * width);
    gate[0] = -200; // e^200 is infinite
    std::vector<double> want(gate.size());
    for (size_t i = 0; i < want.size(); i++) want[i] = gate[i] / (1 + exp(-double(gate[i]))) * up[i];
    launch("silu_mul", {4, 2}, 64, 0, (const int32_t *)&rows, (const float *)gate.data(), (const float *)up.data(), gate.data(), width);
    check("silu_mul", text("%d x %d, in place", rows, width), gate, want, 5e-7);
  }
}

TEST(pages) {
  std::vector<int32_t> table(4 * 7, -5), want = table;
  std::vector<PageWrite> list;
  for (int i = 0; i < 28; i += 3) {
    list.push_back({i / 7, i % 7, 100 + i});
    want[i] = 100 + i;
  }
  launch("apply_pages", {3}, 32, 0, (const PageWrite *)list.data(), int(list.size()), table.data(), 7);
  same("apply_pages", "entries", table, want);
  check("apply_pages", text("%zu entries", list.size()), nullptr, nullptr, 0, 0);

  std::vector<int32_t> from = {3, 1, 4}, to = {2, 6, 5};
  auto copies = [&](const char *kernel, auto element, int64_t elements) {
    using T = decltype(element);
    std::vector<T> pool(7 * elements);
    for (auto &x : pool) x = T(random_bits());
    std::vector<T> expected = pool;
    for (int i = 0; i < 3; i++) std::copy_n(pool.begin() + from[i] * elements, elements, expected.begin() + to[i] * elements);
    launch(kernel, {4, 2}, 64, 0, (const int32_t *)from.data(), (const int32_t *)to.data(), 3, pool.data(), elements);
    same(kernel, text("%lld elements", (long long)elements), pool, expected);
    check(kernel, text("3 pages of %lld", (long long)elements), nullptr, nullptr, 0, 0);
  };
  copies("copy_pages_1", uint8_t(), 77);
  copies("copy_pages_1", uint8_t(), 24);
  copies("copy_pages_1", uint8_t(), 2048);
  copies("copy_pages_2", uint16_t(), 21);
  copies("copy_pages_2", uint16_t(), 1024);
  copies("copy_pages_4", uint32_t(), 7);
  copies("copy_pages_4", uint32_t(), 640);
}
