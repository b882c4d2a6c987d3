// Twins of the products on tensor cores: in double, and in the exact order.
#include "tensor.h"

#include <algorithm>
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
    compute();
  }

  // share takes the input of another product.
  void share(const Product &other) {
    in = other.in;
    compute();
  }

  void compute() {
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

// Group are up to three matrices that are multiplied with the same input in one launch.
template <class T>
struct Group {
  std::vector<Product<T>> list;
  std::vector<std::vector<float>> out;
  std::vector<int32_t> arrived, zeros;
  std::vector<float> work;

  // The shape's columns are those of the first matrix; the others have more and fewer.
  Group(const Shape &s, int matrices) {
    for (int i = 0; i < matrices; i++) {
      Shape other = s;
      if (i > 0) other.n = i == 1 ? s.n + 70 : 9;
      if (i == 1) other.with_bias = !s.with_bias;
      list.emplace_back(other);
      if (i > 0) list[size_t(i)].share(list[0]);
    }
  }

  const Shape &shape() const { return list[0].s; }
  unsigned columns(int size) const {
    unsigned sum = 0;
    for (const Product<T> &p : list) sum += unsigned(p.s.n + size - 1) / unsigned(size);
    return sum;
  }

  void ready(unsigned tiles, int rows, int columns) {
    out.clear();
    for (const Product<T> &p : list) out.push_back(p.old);
    arrived.assign(tiles, 0);
    zeros = arrived;
    work.assign(size_t(segments_of(shape().k)) * tiles * size_t(rows) * size_t(columns), NAN);
  }
  float *out_of(size_t i) { return i < list.size() ? out[i].data() : nullptr; }
  const float *bias_of(size_t i) const { return i < list.size() ? list[i].bias_or_null() : nullptr; }
  int n_of(size_t i) const { return i < list.size() ? list[i].s.n : 0; }

  void compare(const std::string &kernel, bool table, const std::string &how) {
    for (size_t i = 0; i < list.size(); i++) {
      const Product<T> &p = list[i];
      if (table && i == 0) check(kernel, p.shape, out[i], p.want, 5e-6);
      same(kernel, p.shape + text(": matrix %zu of %zu, order of sums, %s", i, list.size(), how.c_str()), out[i], p.exact);
    }
    same(kernel, list[0].shape + ": counters", arrived, zeros);
  }
};

// grids of a product: a block for each tile, one for all, more than there are, and splits.
std::vector<Grid> grids(unsigned tiles) { return {{tiles, 1, 1}, {1, 1, 1}, {1, 1, 2}, {tiles + 1, 1, 5}}; }

template <class T>
unsigned tiles_of(const Group<T> &g, int rows, int columns) {
  return g.columns(columns) * (unsigned(g.shape().rows + rows - 1) / unsigned(rows));
}

template <class T>
void many_run(Group<T> &g, int rows, Grid grid) {
  std::string kernel = text("gemm%d_%s", rows, type_name<T>());
  const Shape &s = g.shape();
  unsigned tiles = tiles_of(g, rows, 128);
  auto w = [&](size_t i) { return i < g.list.size() ? (const T *)g.list[i].w.data() : nullptr; };
  g.ready(tiles, rows, 128);
  launch(kernel.c_str(), grid, 256, rows == 64 ? 98304 : 131072, (const int32_t *)&s.rows, (const T *)g.list[0].in.data(), w(0), w(1), w(2),
         g.bias_of(0), g.bias_of(1), g.bias_of(2), g.out_of(0), g.out_of(1), g.out_of(2), g.n_of(0), g.n_of(1), g.n_of(2), s.k, s.accumulate,
         g.work.data(), g.arrived.data());
  g.compare(kernel, grid.z == 1 && grid.x == tiles && emu::architecture == 90, text("%u splits", grid.z));
}

template <class T>
void many() {
  for (const Shape &s : shapes()) {
    Group<T> g(s, 1 + s.rows % 3);
    for (int rows : {64, 128})
      for (Grid grid : grids(tiles_of(g, rows, 128))) many_run(g, rows, grid);
  }
}
TEST(gemm_many) {
  both(many<bf16>);
  both(many<f16>);
}

// map_of describes a matrix [rows][k] in tiles of 64 x 64.
template <class T>
TensorMap map_of(const std::vector<T> &matrix, int rows, int k) {
  emu::Tiles tiles = {};
  tiles.mark = emu::tensor_mark;
  tiles.base = (const unsigned char *)matrix.data();
  tiles.rank = 2;
  tiles.element = 2;
  tiles.swizzle = 128;
  tiles.box[0] = 64;
  tiles.box[1] = 64;
  tiles.size[0] = uint64_t(k);
  tiles.size[1] = uint64_t(rows);
  tiles.stride[0] = uint32_t(k) * 2 / 16;
  TensorMap map = {};
  memcpy(&map, &tiles, sizeof tiles);
  return map;
}

// Forms of tiles of gemm_wgmma.
const struct Form {
  const char *name;
  int rows, columns;
  unsigned threads, shared;
} forms[] = {{"64", 64, 64, 160, 214016},
             {"64w", 64, 128, 288, 99328},
             {"128", 128, 64, 160, 222208},
             {"128w", 128, 64, 160, 99328},
             {"256", 256, 128, 384, 214016}};

template <class T>
void wgmma_run(Group<T> &g, const Form &f, Grid grid) {
  std::string kernel = text("gemm_wgmma%s_%s", f.name, type_name<T>());
  const Shape &s = g.shape();
  TensorMap in = map_of(g.list[0].in, s.rows, s.k), w[3];
  for (size_t i = 0; i < g.list.size(); i++) w[i] = map_of(g.list[i].w, g.n_of(i), s.k);
  auto map = [&](size_t i) { return i < g.list.size() ? (const TensorMap *)&w[i] : nullptr; };
  g.ready(tiles_of(g, f.rows, f.columns), f.rows, f.columns);
  launch(kernel.c_str(), grid, f.threads, f.shared, (const int32_t *)&s.rows, (const TensorMap *)&in, map(0), map(1), map(2), g.bias_of(0),
         g.bias_of(1), g.bias_of(2), g.out_of(0), g.out_of(1), g.out_of(2), g.n_of(0), g.n_of(1), g.n_of(2), s.k, s.accumulate, g.work.data(),
         g.arrived.data());
  g.compare(kernel, grid.z == 1, text("%u splits", grid.z));
}

// The smallest problem of two blocks, for the race detector, which is slow.
TEST(gemm_two_blocks) {
  Group<bf16> g({1, 8, 1024, false, 0}, 1);
  wgmma_run(g, forms[0], {1, 1, 2});
}

// wgmma tries a grid for each form and shape: all grids for each form over the shapes. Tiles are mostly zeros, and take
// long.
template <class T>
void wgmma(size_t step) {
  std::vector<Shape> list = shapes();
  list.push_back({300, 40, 1104, true, 1}); // several tiles of rows for a block
  list.push_back({640, 150, 40, false, 1}); // patches of tiles
  list.push_back({129, 64, 1552, true, 0});
  for (size_t number = 0; number < list.size(); number += step) {
    const Shape &s = list[number];
    Group<T> g(s, 1 + s.rows % 3);
    for (auto &f : forms) {
      unsigned tiles = tiles_of(g, f.rows, f.columns);
      Grid grid = grids(tiles)[(number + size_t(&f - forms)) % 4];
      if (f.rows < 256) grid.x = std::max(grid.x, tiles);
      wgmma_run(g, f, grid);
    }
  }
}
TEST(gemm_wgmma) {
  wgmma<bf16>(1);
  wgmma<f16>(3);
}

} // namespace
