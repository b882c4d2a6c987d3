// What the kernels on tensor cores share: products of 16-bit types, and tiles in shared memory.
//
// Order of sums: a product of two vectors runs over steps of 16 elements in ascending order in one float32 accumulator
// that begins with zero. A step adds 16 products and the accumulator in a way that does not depend on which operand is
// which, on the size of the instruction or on the place in a tile (testkit/cudaemu/emu/dot.cc). Zeros beyond the end
// of a vector change nothing. So tiles, stages and blocks may be chosen freely.
#pragma once
#include "order.cuh"

template <class T>
DEVICE void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (__is_same(T, bf16)) {
    mma_bf16(d, a, b0, b1);
  } else {
    mma_f16(d, a, b0, b1);
  }
}

// A tile of 16-bit elements in shared memory has rows of 64, as 8 chunks of 16 bytes. Chunks of row r are exchanged by
// r % 8, so that the 8 rows of a matrix lie in different banks.
constexpr int TILE_K = 64, ROW_BYTES = TILE_K * 2, ROW_CHUNKS = ROW_BYTES / 16;
DEVICE unsigned char *chunk_of(unsigned char *tile, int row, int chunk) { return tile + row * ROW_BYTES + ((chunk ^ (row % 8)) * 16); }

// copy_rows starts the copy of rows [first, first + ROWS) x [k0, k0 + 64) of a matrix [rows][k] into a tile, by THREADS
// threads. What lies beyond rows or k_end becomes zeros and is not read. k and k_end are multiples of 8.
template <int ROWS, int THREADS, class T>
DEVICE void copy_rows(unsigned char *tile, const T *matrix, int first, int rows, int64_t k, int k0, int k_end, int thread) {
  constexpr int STEP = THREADS / ROW_CHUNKS; // rows that the threads copy at once
  static_assert(THREADS % ROW_CHUNKS == 0 && ROWS % STEP == 0, "every thread copies the same number of chunks");
  int row = thread / ROW_CHUNKS, chunk = thread % ROW_CHUNKS;
  const T *from = matrix + (first + row) * k + k0 + chunk * 8;
  bool inside = k0 + chunk * 8 < k_end;
  UNROLL
  for (int i = 0; i < ROWS; i += STEP) {
    cp_async16(chunk_of(tile, row + i, chunk), from, inside && first + row + i < rows);
    from += STEP * k;
  }
}

// load_a is rows [row, row + 16) and elements [16 step, 16 step + 16) of a tile as the first operand.
DEVICE void load_a(uint32_t (&a)[4], unsigned char *tile, int row, int step) {
  int lane = threadIdx.x % 32;
  ldmatrix_x4(a, chunk_of(tile, row + lane % 16, step * 2 + lane / 16));
}

// load_b is rows [row, row + 16) as the second operand of two products: b[0] and b[1] for the first 8 rows.
DEVICE void load_b(uint32_t (&b)[4], unsigned char *tile, int row, int step) {
  int lane = threadIdx.x % 32;
  ldmatrix_x4(b, chunk_of(tile, row + lane % 8 + lane / 16 * 8, step * 2 + lane / 8 % 2));
}

// load_b_steps is 8 rows as the second operand of steps step and step + 1.
DEVICE void load_b_steps(uint32_t (&b)[4], unsigned char *tile, int row, int step) {
  int lane = threadIdx.x % 32;
  ldmatrix_x4(b, chunk_of(tile, row + lane % 8, step * 2 + lane / 8));
}

// arrive counts the blocks that share an output and reports whether this is the last one.
DEVICE bool arrive(int32_t *arrived, int blocks) {
  SHARED(int, last, );
  __threadfence(); // what this thread wrote to work is seen before its block has arrived
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(arrived, 1) == blocks - 1;
    if (last) *arrived = 0; // for the next launch
  }
  __syncthreads();
  __threadfence(); // what the others wrote is read after this
  return last;
}

// finish is what follows a product: bias, then the old value of out.
DEVICE void finish(float total, const float *bias, float *out, int column, int accumulate) {
  if (bias) total = fadd(total, bias[column]);
  if (accumulate) total = fadd(total, *out);
  *out = total;
}
