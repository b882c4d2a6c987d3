// Twins of the products on tensor cores: in double, and in the exact order.
#include "tensor.h"

#include <array>

namespace {

struct Shape {
  int rows, n, k;
  bool with_bias;
  int accumulate;
};

// Product is a problem and what must come out.
template <class T>
struct Product {
  Shape s;
  std::vector<T> in, w;
  std::vector<float> bias, old, exact;
  std::vector<double> want;
  std::string shape;

  explicit Product(const Shape &s)
      : s(s), in(narrowed<T>(normal(size_t(s.rows) * s.k))), w(narrowed<T>(normal(size_t(s.n) * s.k, 1 / sqrtf(float(s.k))))), bias(normal(s.n)),
        old(normal(size_t(s.rows) * s.n)), exact(old.size()), want(old.size()),
        shape(text("%d x %d, K %d%s%s", s.rows, s.n, s.k, s.with_bias ? ", bias" : "", s.accumulate ? ", residual" : "")) {
    for (int r = 0; r < s.rows; r++)
      for (int c = 0; c < s.n; c++) {
        const T *x = &in[size_t(r) * s.k], *y = &w[size_t(c) * s.k];
        double sum = 0;
        float total = 0;
        for (int i = 0; i < s.k; i++) sum += double(widen(x[i])) * widen(y[i]);
        for (int i = 0; i < s.k; i += SEGMENT) total += chain(x + i, y + i, lesser(s.k - i, SEGMENT), 0);
        size_t at = size_t(r) * s.n + c;
        if (s.with_bias) sum += bias[c], total += bias[c];
        if (s.accumulate) sum += old[at], total += old[at];
        want[at] = sum;
        exact[at] = total;
      }
  }

  const float *bias_or_null() const { return s.with_bias ? bias.data() : nullptr; }
};

std::vector<Shape> shapes() {
  return {
      {1, 8, 8, false, 0},      {3, 33, 24, true, 0},    {8, 64, 512, false, 1},  {9, 70, 520, true, 1},   {16, 40, 1032, false, 0},
      {1, 32, 4616, true, 1}, // more segments than warps
      {17, 96, 2056, true, 0},  {40, 130, 1536, true, 1}, {70, 136, 600, false, 0},
  };
}

// both runs a test as Ampere and as Hopper add.
void both(void (*test)()) {
  for (int architecture : architectures()) {
    emu::architecture = architecture;
    test();
  }
  emu::architecture = 90;
}

// few_run runs a kernel for the product as one of several matrices: columns are how many each has.
template <class T>
void few_run(int tokens, const Product<T> &p, Grid grid, std::array<int, 3> columns) {
  std::string kernel = text("gemm_few%d_%s", tokens, type_name<T>());
  const Shape &s = p.s;
  const T *w[3] = {};
  const float *bias[3] = {};
  std::vector<float> out[3], whole(p.old.size());
  auto each = [&](auto f) { // of each element: where it is in out and in the whole product
    for (int i = 0, first = 0; i < 3; first += columns[i++])
      for (int r = 0; r < s.rows; r++)
        for (int c = 0; c < columns[i]; c++) f(out[i][size_t(r) * columns[i] + c], size_t(r) * s.n + first + c);
  };
  for (int i = 0, first = 0; i < 3; first += columns[i++])
    if (columns[i]) {
      w[i] = p.w.data() + size_t(first) * s.k;
      bias[i] = s.with_bias ? p.bias.data() + first : nullptr;
      out[i].resize(size_t(s.rows) * columns[i]);
    }
  each([&](float &x, size_t at) { x = p.old[at]; });
  launch(kernel.c_str(), grid, 256, tokens == 8 ? 122880 : 147456, (const int32_t *)&s.rows, (const T *)p.in.data(), w[0], w[1], w[2], bias[0], bias[1],
         bias[2], out[0].data(), out[1].data(), out[2].data(), columns[0], columns[1], columns[2], s.k, s.accumulate);
  each([&](float x, size_t at) { whole[at] = x; });
  if (grid.x == 1 && emu::architecture == 90) check(kernel, p.shape, whole, p.want, 5e-6);
  same(kernel, p.shape + text(": order of sums, %d + %d + %d columns", columns[0], columns[1], columns[2]), whole, p.exact);
}

template <class T>
void few() {
  for (const Shape &s : shapes()) {
    Product<T> p(s);
    int second = s.n / 3, third = s.n / 5;
    for (int tokens : {8, 16}) {
      unsigned rows = unsigned(s.rows + tokens - 1) / tokens;
      few_run(tokens, p, {unsigned(s.n + 7) / 8, rows + 1}, {s.n, 0, 0});
      for (unsigned blocks : {1, 2}) few_run(tokens, p, {blocks, rows}, {s.n, 0, 0});
      few_run(tokens, p, {3, rows}, {s.n - second - third, second, third});
      few_run(tokens, p, {30, rows}, {s.n - second, second, 0}); // some blocks have nothing to do
    }
  }
}
TEST(gemm_few) {
  both(few<bf16>);
  both(few<f16>);
}

template <class T>
void many() {
  for (const Shape &s : shapes()) {
    Product<T> p(s);
    for (int rows : {64, 128}) {
      std::string kernel = text("gemm%d_%s", rows, type_name<T>());
      unsigned columns = unsigned(s.n + 127) / 128, tiles = unsigned(s.rows + rows - 1) / rows;
      for (Grid grid : {Grid{columns, tiles, 1}, Grid{columns, 1, 1}, Grid{columns, 1, 2}, Grid{columns, tiles + 1, 5}}) {
        std::vector<float> out = p.old, work(size_t(segments_of(s.k)) * s.rows * s.n, NAN);
        std::vector<int32_t> arrived(columns * tiles), zeros = arrived;
        launch(kernel.c_str(), grid, 256, rows == 64 ? 98304 : 131072, (const int32_t *)&s.rows, (const T *)p.in.data(), (const T *)p.w.data(),
               p.bias_or_null(), out.data(), s.n, s.k, s.accumulate, work.data(), arrived.data());
        if (grid.z == 1 && grid.y == tiles && emu::architecture == 90) check(kernel, p.shape, out, p.want, 5e-6);
        same(kernel, p.shape + text(": order of sums, %u splits", grid.z), out, p.exact);
        same(kernel, p.shape + ": counters", arrived, zeros);
      }
    }
  }
}
TEST(gemm_many) {
  both(many<bf16>);
  both(many<f16>);
}

// map_of describes a matrix [rows][k] in tiles of 128 x 64.
template <class T>
TensorMap map_of(const std::vector<T> &matrix, int rows, int k) {
  emu::Tiles tiles = {};
  tiles.mark = emu::tensor_mark;
  tiles.base = (const unsigned char *)matrix.data();
  tiles.rank = 2;
  tiles.element = 2;
  tiles.swizzle = 128;
  tiles.box[0] = 64;
  tiles.box[1] = 128;
  tiles.size[0] = uint64_t(k);
  tiles.size[1] = uint64_t(rows);
  tiles.stride[0] = uint32_t(k) * 2 / 16;
  TensorMap map = {};
  memcpy(&map, &tiles, sizeof tiles);
  return map;
}

template <class T>
void wgmma() {
  std::string kernel = text("gemm_wgmma_%s", type_name<T>());
  std::vector<Shape> list = shapes();
  list.push_back({300, 40, 1104, true, 1}); // several tiles of rows for a block
  for (const Shape &s : list) {
    Product<T> p(s);
    unsigned columns = unsigned(s.n + 127) / 128, tiles = unsigned(s.rows + 127) / 128;
    TensorMap in = map_of(p.in, s.rows, s.k), w = map_of(p.w, s.n, s.k);
    for (Grid grid : {Grid{columns, tiles, 1}, Grid{columns, 1, 1}, Grid{columns, 1, 2}, Grid{columns, tiles + 1, 5}}) {
      std::vector<float> out = p.old, work(size_t(segments_of(s.k)) * s.rows * s.n, NAN);
      std::vector<int32_t> arrived(columns * tiles), zeros = arrived;
      launch(kernel.c_str(), grid, 384, 132096, (const int32_t *)&s.rows, (const TensorMap *)&in, (const TensorMap *)&w, p.bias_or_null(),
             out.data(), s.n, s.k, s.accumulate, work.data(), arrived.data());
      if (grid.z == 1 && grid.y == tiles) check(kernel, p.shape, out, p.want, 5e-6);
      same(kernel, p.shape + text(": order of sums, %u splits", grid.z), out, p.exact);
      same(kernel, p.shape + ": counters", arrived, zeros);
    }
  }
}
TEST(gemm_wgmma) {
  wgmma<bf16>();
  wgmma<f16>();
}

} // namespace
