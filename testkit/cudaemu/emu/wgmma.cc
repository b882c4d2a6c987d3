// wgmma.cc: see wgmma.h.
#include "wgmma.h"

#include "machine.h"
#include "mbarrier.h"
#include "race.h"

#include <map>
#include <string.h>

namespace emu {

// Issued is a product of the 32 lanes of a warp.
struct Issued {
  size_t number;              // of the products of this warp
  Product lane[32];
  std::vector<uint32_t> a;    // [32][4] operands in registers when it was issued
  std::vector<float> before;  // [32][registers] accumulators then; empty: the result of `after`
  size_t after;               // the earlier product of the same accumulators
  std::vector<float> result;  // empty until it is computed
};

struct Groups {
  size_t open; // what a wait leaves
};

struct Products {
  std::vector<Issued> list;    // under way
  std::vector<size_t> groups;  // ends of the committed groups in list
  std::vector<Thread *> waiting; // for the other warps to issue theirs
  bool fenced = false;         // since the last wait
  size_t issued = 0;
  std::map<const float *, std::vector<float>> results; // by lane 0's accumulators, as they were left
};

namespace {

Products &products(Warp &w) {
  if (!w.products) w.products = new Products;
  return *w.products;
}

// The four warps of a warpgroup.
Warp *group_of(Warp &w) { return &block->warp[w.number / 4 * 4]; }

std::vector<float> accumulators(const Product (&lane)[32]) {
  size_t r = (size_t)lane[0].registers;
  std::vector<float> v(32 * r);
  for (size_t l = 0; l < 32; l++) memcpy(&v[l * r], lane[l].d, r * sizeof(float));
  return v;
}

bool same(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && !memcmp(a.data(), b.data(), a.size() * sizeof(float));
}

// place is the byte of element (row, k) of a matrix in the shared window, where
// row counts along M or N. T is 8 elements, the 16 bytes that stay together.
//
//	            not turned: k contiguous        turned: rows contiguous
//	no swizzle  r%8 T + r/8 stride + k/8 leading    r%8 + r/8 stride + k%8 T + k/8 leading
//	swizzled    r%8 span + r/8 stride + k       r%(span/2) + r/(span/2) leading + k%8 span + k/8 stride
//
// and with a swizzle, bits 4.. of the address are flipped by bits 7.. of it.
uint32_t place(uint64_t matrix, bool turned, uint32_t row, uint32_t k) {
  uint32_t start = (uint32_t)(matrix & 0x3fff) << 4, leading = (uint32_t)(matrix >> 16 & 0x3fff) << 4,
           stride = (uint32_t)(matrix >> 32 & 0x3fff) << 4, mode = (uint32_t)(matrix >> 62);
  if (matrix >> 49 & 7) fail("wgmma: a base offset in the matrix descriptor is not emulated");
  uint32_t at;
  if (!mode) {
    at = turned ? row % 8 * 2 + row / 8 * stride + k % 8 * 16 + k / 8 * leading : row % 8 * 16 + row / 8 * stride + k % 8 * 2 + k / 8 * leading;
    return (start + at) & (window_bytes - 1);
  }
  uint32_t span = 256 >> mode, wide = span / 2;
  at = turned ? row % wide * 2 + row / wide * leading + k % 8 * span + k / 8 * stride : row % 8 * span + row / 8 * stride + k * 2;
  at += start;
  at ^= (at >> 7 & (span / 16 - 1)) << 4;
  return at & (window_bytes - 1);
}

void load_operand(uint16_t *out, uint64_t matrix, bool turned, uint32_t from, uint32_t rows) {
  const unsigned char *view = async_view();
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t k = 0; k < 16; k++) {
      if constexpr (race::on) race::access(block->window + place(matrix, turned, from + r, k), 2, race::read);
      memcpy(out + r * 16 + k, view + place(matrix, turned, from + r, k), 2);
    }
}

// registers_at calls f for each pair of accumulators: the lane, the index of the
// first of the two, and their row and column among the warp's 16 rows.
template <class F> void registers_at(int n, F f) {
  for (int l = 0; l < 32; l++)
    for (int j = 0; j < n / 8; j++)
      for (int h = 0; h < 2; h++) f(l, 4 * j + 2 * h, l / 4 + 8 * h, 8 * j + l % 4 * 2);
}

// compute is the part of one warp.
void compute(Warp &w, Issued &p) {
  const Product &first = p.lane[0];
  int n = first.registers * 2;
  uint16_t a[16][16], b[256][16];
  if (first.a) {
    for (int l = 0; l < 32; l++) {
      if (memcmp(p.lane[l].a, &p.a[(size_t)l * 4], 16)) fail("wgmma: operand registers were written while the product was under way");
      int g = l / 4, t = l % 4 * 2;
      memcpy(&a[g][t], &p.lane[l].a[0], 4);
      memcpy(&a[g + 8][t], &p.lane[l].a[1], 4);
      memcpy(&a[g][t + 8], &p.lane[l].a[2], 4);
      memcpy(&a[g + 8][t + 8], &p.lane[l].a[3], 4);
    }
  } else {
    load_operand(a[0], first.a_matrix, first.a_turned, w.number % 4 * 16, 16);
  }
  load_operand(b[0], first.b_matrix, first.b_turned, 0, (uint32_t)n);
  const std::vector<float> *start = &p.before;
  for (const Issued &o : products(w).list)
    if (p.before.empty() && o.number == p.after) start = &o.result;
  std::vector<float> c(16 * (size_t)n);
  if (first.accumulate)
    registers_at(n, [&](int l, int i, int row, int column) { memcpy(&c[(size_t)(row * n + column)], &(*start)[(size_t)(l * first.registers + i)], 8); });
  dot_tile(first.half, a[0], 16, b[0], n, c.data(), n);
  p.result.resize(32 * (size_t)first.registers);
  registers_at(n, [&](int l, int i, int row, int column) { memcpy(&p.result[(size_t)(l * first.registers + i)], &c[(size_t)(row * n + column)], 8); });
}

// compute_all does product number of the four warps; all have issued it. The
// hardware reads the operands of the four together.
void compute_all(Warp &w, size_t number) {
  for (int i = 0; i < 4; i++) {
    Warp &o = group_of(w)[i];
    for (Issued &p : products(o).list)
      if (p.number == number && p.result.empty()) compute(o, p);
  }
  if constexpr (race::on) race::release(*self, group_of(w)); // who has read the operands
}

bool all_issued(Warp &w, size_t count) {
  for (int i = 0; i < 4; i++)
    if (products(group_of(w)[i]).issued < count) return false;
  return true;
}

// finish writes the results of the first products of a warp into its registers.
void finish_first(Warp &w, size_t count) {
  Products &all = products(w);
  for (size_t i = 0; i < count; i++) {
    Issued &p = all.list[i];
    compute_all(w, p.number);
    if (!p.before.empty() && !same(p.before, accumulators(p.lane))) fail("wgmma: an accumulator was written while the product was under way");
    size_t r = (size_t)p.lane[0].registers;
    for (size_t l = 0; l < 32; l++) memcpy(p.lane[l].d, &p.result[l * r], r * sizeof(float));
    all.results[p.lane[0].d] = p.result;
    // A later product of the same accumulators has its start now.
    for (size_t k = i + 1; k < all.list.size(); k++)
      if (all.list[k].before.empty() && all.list[k].after == p.number) all.list[k].before = p.result;
  }
  all.list.erase(all.list.begin(), all.list.begin() + (long)count);
  if (count) all.fenced = false;
}

void need_group(const char *what, uint32_t mask) {
  if (architecture != 90) fail("%s needs compute capability 9.0; this device has %d.%d", what, architecture / 10, architecture % 10);
  if (mask != 0xffffffffu) fail("%s needs all 32 lanes of the warp; only those of %08x have not exited", what, mask);
  if (self->warp->number / 4 * 128 + 128 > block->threads) fail("%s needs whole warpgroups, 128 threads", what);
}

} // namespace

void converge(Warp &, uint32_t mask) { need_group("wgmma.wait_group", mask); }

void issue(Warp &w, uint32_t mask) {
  need_group("wgmma", mask);
  Products &p = products(w);
  Issued i{};
  for (int l = 0; l < 32; l++) i.lane[l] = *(Product *)w.args[l];
  const Product &first = i.lane[0];
  for (const Product &l : i.lane)
    if (l.a_matrix != first.a_matrix || l.b_matrix != first.b_matrix || l.accumulate != first.accumulate)
      fail("wgmma: lanes of a warp have different descriptors");
  if (first.registers % 4 || first.registers < 4 || first.registers > 128) fail("wgmma: %d columns; a multiple of 8 up to 256 is needed", first.registers * 2);
  i.number = p.issued;
  std::vector<float> now = accumulators(i.lane);
  if (first.a)
    for (const Product &l : i.lane) i.a.insert(i.a.end(), l.a, l.a + 4);
  bool chained = false;
  for (const Issued &o : p.list)
    if (o.lane[0].d == first.d) {
      chained = true;
      i.after = o.number;
    }
  if (!chained) i.before = now;
  if (!p.fenced && !chained) {
    auto left = p.results.find(first.d);
    if (left == p.results.end()) fail("wgmma: wgmma.fence is missing before the first product of an accumulator");
    if (!same(left->second, now)) fail("wgmma: wgmma.fence is missing after an accumulator was written");
    if (first.a) fail("wgmma: wgmma.fence is missing after operand registers were written");
  }
  p.issued++;
  p.list.push_back(std::move(i));
  for (int k = 0; k < 4; k++) { // waits for this product go on
    std::vector<Thread *> &waiting = products(group_of(w)[k]).waiting;
    for (Thread *t : waiting) wake(t);
    waiting.clear();
  }
  if (block->early && all_issued(w, p.issued)) compute_all(w, p.issued - 1);
}

void fence_products(Warp &w, uint32_t mask) {
  need_group("wgmma.fence", mask);
  products(w).fenced = true;
}

void commit_products(Warp &w, uint32_t mask) {
  need_group("wgmma.commit_group", mask);
  products(w).groups.push_back(products(w).list.size());
}

// finish_groups is the end of a wait.
void finish_groups(Warp &w, uint32_t mask) {
  need_group("wgmma.wait_group", mask);
  Products &p = products(w);
  size_t open = ((Groups *)w.args[0])->open;
  if (p.groups.size() <= open) return;
  size_t groups = p.groups.size() - open, count = p.groups[groups - 1];
  finish_first(w, count);
  p.groups.erase(p.groups.begin(), p.groups.begin() + (long)groups);
  for (size_t &end : p.groups) end -= count;
  // Whoever waits knows that the operands of all four warps were read.
  if constexpr (race::on)
    for (int l = 0; l < 32; l++) race::acquire(*w.thread[l], group_of(w));
}

void wait_products(size_t open, Site site) {
  Groups g{open};
  Warp &w = *self->warp;
  // Products run when all warps of the group have issued them.
  collective("wgmma.wait_group", converge, nullptr, 0xffffffffu, site, true);
  Products &p = products(w);
  while (p.groups.size() > open) {
    size_t count = p.groups[p.groups.size() - open - 1];
    if (!count || all_issued(w, p.list[count - 1].number + 1)) break;
    p.waiting.push_back(self);
    wait("wgmma.wait_group", site);
  }
  collective("wgmma.wait_group", finish_groups, &g, 0xffffffffu, site, true);
}

void fence_proxy() {
  block->fence_proxy = true;
  fence_mbarriers();
}

void finish_products(Warp &w) {
  if (!w.products) return;
  if (!w.products->list.empty()) machine->record("it ends with products (wgmma) that it has not waited for");
  for (unsigned i = w.number / 4 * 4; i < w.number / 4 * 4 + 4; i++) {
    Warp &o = block->warp[i];
    if (!o.live && (!o.products || o.products->issued != w.products->issued))
      machine->record("the four warps of a warpgroup have executed different numbers of products (wgmma)");
  }
}

void reset_products(Warp &w) {
  delete w.products;
  w.products = nullptr;
}

} // namespace emu
