// What the products for many rows share (tensor_gemm.cu, tensor_gemm_wgmma.cu): several matrices with one input, the
// order of tiles, sums of segments that several blocks make, and what is written.
//
// Matrices: up to three, w_i [n_i][k] with bias_i [n_i] or null and out_i [count][n_i]; n_i = 0 for those that are
//   absent. Their column tiles follow each other.
// Tiles are numbered so that those in flight at a time lie in a patch of PATCH row tiles: that needs less of in and w
//   than a row of tiles, of which each needs another part of w. A block takes tiles blockIdx.x, + gridDim.x, ...
// Splits: gridDim.z > 1 spreads the segments of K over blocks, for products with few tiles. Blocks write what they have
//   to work, and the last one to arrive at a tile adds it in order: the first block its total, as slot 0; the others the
//   sum of each segment. work is [slot][tile][vector][thread] of 4 floats, as the threads hold them, so every thread
//   reads what its like has written. arrived [tiles] holds zeros, which are zeros again at the end.
#pragma once
#include "tensor.cuh"

namespace many {

constexpr int PATCH = 8;

DEVICE int per(int n, int size) { return (n + size - 1) / size; }

template <class W>
struct Matrix {
  W w;
  const float *bias;
  float *out;
  int n;
};

template <class W>
struct Product {
  W in;
  Matrix<W> first, second, third;
  int rows, k, accumulate;
  float *work;
  int32_t *arrived;
};

template <class W>
struct Tile {
  Matrix<W> matrix;
  int row, column; // the first ones of in and of the matrix
};

// Tiles are those of a product, of ROWS rows of in and COLUMNS of a matrix.
template <int ROWS, int COLUMNS>
struct Tiles {
  int rows, first, second, columns; // tiles: of rows, of columns of the first and the second matrix and of all
};

template <int ROWS, int COLUMNS, class W>
DEVICE Tiles<ROWS, COLUMNS> tiles_of(const Product<W> &p) {
  int first = per(p.first.n, COLUMNS), second = per(p.second.n, COLUMNS);
  return {per(p.rows, ROWS), first, second, first + second + per(p.third.n, COLUMNS)};
}

template <int ROWS, int COLUMNS, class W>
DEVICE Tile<W> tile_at(const Product<W> &p, const Tiles<ROWS, COLUMNS> &tiles, int number) {
  int patch = number / (PATCH * tiles.columns) * PATCH, height = lesser(PATCH, tiles.rows - patch), i = number - patch * tiles.columns;
  int row = patch + i % height, column = i / height;
  Tile<W> t{p.first, row * ROWS, 0};
  if (column >= tiles.first) {
    column -= tiles.first;
    t.matrix = p.second;
    if (column >= tiles.second) {
      column -= tiles.second;
      t.matrix = p.third;
    }
  }
  t.column = column * COLUMNS;
  return t;
}

// Part is what a block has to do of K.
struct Part {
  int from, to; // segments
  int step;     // segments of a block
  int blocks;   // that share a tile
  int slots;    // of a tile in work
};

DEVICE Part part_of(int k) {
  int segments = segments_of(k), step = per(segments, gridDim.z), from = blockIdx.z * step;
  return {from, lesser(from + step, segments), step, per(segments, step), segments - step + 1};
}

DEVICE int slot_of(const Part &part, int segment) { return segment - part.step + 1; }

struct alignas(16) Vector {
  float x[4];
};

// place is the first vector of a thread in a slot of a tile; those after it are THREADS apart.
template <int VECTORS, int THREADS>
DEVICE Vector *place(float *work, int slot, int tile, int tiles, int thread) {
  return (Vector *)work + (int64_t(slot) * tiles + tile) * (VECTORS * THREADS) + thread;
}

// arrive counts the blocks that share a tile and reports whether this is the last one, to the first THREADS threads. One
// thread fences for all of them, unlike arrive of tensor.cuh: the barriers before and after it order what they have
// written, and what they read. It is cheaper where blocks are large.
template <int THREADS>
DEVICE bool arrive(int32_t *arrived, int blocks) {
  SHARED(int, last, );
  bar_sync(1, THREADS);
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(arrived, 1) == blocks - 1;
    if (last) *arrived = 0; // for the next launch
    __threadfence();
  }
  bar_sync(1, THREADS);
  return last;
}

// bias_of is the bias of a column; 0: there is none.
template <class W>
DEVICE float bias_of(const Matrix<W> &m, int column) { return m.bias && column < m.n ? m.bias[column] : 0; }

// At is where an element belongs.
struct At {
  int row, column;
};

// write finishes 4 COUNT sums from vector first on: bias, then the old value of out, of which all are on their way before
// the first one is needed. at(v, c) is where element c of vector v belongs, counted from row and column; bias(c, column) is
// its bias.
template <int COUNT, class W, class F, class G>
DEVICE void write(const Matrix<W> &m, int rows, int accumulate, const Vector *sum, int first, int row, int column, F at, G bias) {
  row = here(row);
  float *out = m.out + int64_t(row) * m.n + column, added[COUNT][4], old[COUNT][4];
  auto each = [&](auto f) INLINE {
    UNROLL
    for (int v = 0; v < COUNT; v++)
      UNROLL
      for (int c = 0; c < 4; c++) {
        At a = at(first + v, c);
        f(v, c, column + a.column, row + a.row < rows && column + a.column < m.n, out + int64_t(a.row) * m.n + a.column);
      }
  };
  each([&](int v, int c, int i, bool inside, const float *p) INLINE {
    added[v][c] = bias(c, i);
    old[v][c] = accumulate && inside ? *p : 0;
  });
  each([&](int v, int c, int, bool inside, float *p) INLINE {
    float x = sum[v].x[c];
    x = m.bias ? fadd(x, added[v][c]) : x;
    x = accumulate ? fadd(x, old[v][c]) : x;
    if (inside) *p = x;
  });
}

// join adds the slots of a tile and writes the outputs: DEPTH vectors of a thread at a time, of AHEAD slots.
template <int VECTORS, int THREADS, int DEPTH, int AHEAD, class W, class F, class G>
DEVICE void join(const Product<W> &p, const Matrix<W> &m, int slots, int tile, int tiles, int thread, int row, int column, F at, G bias) {
  const Vector *from = place<VECTORS, THREADS>(p.work, 0, tile, tiles, thread);
  int64_t stride = int64_t(tiles) * (VECTORS * THREADS);
  for (int first = 0; first < VECTORS; first += DEPTH, from += DEPTH * THREADS) {
    Vector sum[DEPTH] = {};
    const Vector *slot = from;
    for (int s = 0; s < slots; s += AHEAD) {
      Vector x[AHEAD][DEPTH];
      UNROLL
      for (int i = 0; i < AHEAD; i++, slot += stride)
        UNROLL
        for (int v = 0; v < DEPTH; v++)
          x[i][v] = s + i < slots ? slot[v * THREADS] : Vector{}; // zeros change no sum
      UNROLL
      for (int i = 0; i < AHEAD; i++)
        UNROLL
        for (int v = 0; v < DEPTH; v++)
          UNROLL
          for (int c = 0; c < 4; c++)
            sum[v].x[c] = fadd(sum[v].x[c], x[i][v].x[c]);
    }
    write<DEPTH>(m, p.rows, p.accumulate, sum, first, row, column, at, bias);
  }
}

} // namespace many
