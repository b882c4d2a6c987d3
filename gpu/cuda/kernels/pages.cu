// apply_pages: writes entries of the page table. copy_pages: copies whole pages inside the pool of one layer.
//
// Shapes: list [n] of (row, index, page); page_table [rows][page_stride]. from, to [n] pages; pool [pages][elements] of
//   elements of 1, 2 or 4 bytes. No page is both source and target.
// Order of sums: none.
// Launch: apply_pages: grid ceil(n / block), any block. copy_pages: grid (n, any number of parts), any block.
//
// | version | what | time |
// |---|---|---|
// | 1 | a thread an entry; 16 bytes a thread where a page has a multiple of that | not measured |
#include "step.cuh"

KERNEL(apply_pages)(const PageWrite *list, int n, int32_t *page_table, int page_stride) {
  wait_for_previous();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) page_table[int64_t(list[i].row) * page_stride + list[i].index] = list[i].page;
}
REGISTER(apply_pages);

typedef uint32_t Sixteen __attribute__((vector_size(16)));

template <class T>
DEVICE void copy_page(const T *from, T *to, int64_t elements) {
  int64_t step = int64_t(gridDim.y) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.y) * blockDim.x + threadIdx.x; i < elements; i += step) to[i] = from[i];
}

template <class T>
DEVICE void copy_pages(const int32_t *from, const int32_t *to, int n, T *pool, int64_t elements) {
  if (int(blockIdx.x) >= n) return;
  const T *source = pool + from[blockIdx.x] * elements;
  T *target = pool + to[blockIdx.x] * elements;
  int64_t bytes = elements * int64_t(sizeof(T));
  if (bytes % 16 == 0) {
    copy_page((const Sixteen *)source, (Sixteen *)target, bytes / 16);
  } else {
    copy_page(source, target, elements);
  }
}

#define COPY_PAGES(bytes, type)                                                                                     \
  KERNEL(copy_pages_##bytes)(const int32_t *from, const int32_t *to, int n, type *pool, int64_t elements) {         \
    wait_for_previous();                                                                                            \
    copy_pages(from, to, n, pool, elements);                                                                        \
  }                                                                                                                 \
  REGISTER(copy_pages_##bytes);
COPY_PAGES(1, uint8_t)
COPY_PAGES(2, uint16_t)
COPY_PAGES(4, uint32_t)
