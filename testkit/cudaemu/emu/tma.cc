// tma.cc: see tma.h.
#include "tma.h"

#include "machine.h"
#include "mbarrier.h"
#include "memory.h"
#include "race.h"

#include <string.h>

namespace emu {
namespace {

struct Transfer {
  Tiles map; // rank 0: a bulk copy
  unsigned char *to;
  const unsigned char *from;
  uint64_t *barrier;
  int bytes;
  int at[5];
};

// swizzled is where byte n of a tile lies: bits 4.. of the address are flipped
// by bits 7.. of it, as many as the span has units of 16 bytes. The pattern
// follows the address in the shared window, not the start of the tile.
unsigned char *swizzled(unsigned char *tile, size_t n, uint32_t span) {
  uintptr_t p = (uintptr_t)tile + n;
  if (span) p ^= (p >> 7 & (span / 16 - 1)) << 4;
  return (unsigned char *)p;
}

void copy_tile(const Transfer &t) {
  const Tiles &m = t.map;
  size_t elements = 1;
  for (uint32_t d = 0; d < m.rank; d++) elements *= m.box[d];
  for (size_t n = 0; n < elements; n++) {
    size_t rest = n;
    int64_t offset = 0;
    bool inside = true;
    for (uint32_t d = 0; d < m.rank; d++) {
      int64_t i = (int64_t)t.at[d] + (int64_t)(rest % m.box[d]);
      rest /= m.box[d];
      inside &= i >= 0 && (uint64_t)i < m.size[d];
      offset += i * (d ? (int64_t)m.stride[d - 1] * 16 : (int64_t)m.element);
    }
    unsigned char *to = swizzled(t.to, n * m.element, m.swizzle);
    if (inside)
      memcpy(to, m.base + offset, m.element);
    else
      memset(to, m.fill ? 0xff : 0, m.element);
  }
}

void finish(void *p) {
  Transfer *t = (Transfer *)p;
  if (t->map.rank)
    copy_tile(*t);
  else
    memcpy(t->to, t->from, (size_t)t->bytes);
  if constexpr (race::on) race::end_engine_copy(t->to, (size_t)t->bytes, t->barrier);
  wrote_async(t->to, (size_t)t->bytes);
  mbarrier_received(t->barrier, t->bytes);
  delete t;
}

void begin(const char *what, Transfer *t, unsigned align) {
  if (architecture < 90) fail("%s needs compute capability 9.0; this device has %d.%d", what, architecture / 10, architecture % 10);
  if (!in_shared(t->to, (size_t)t->bytes)) fail("%s: %d bytes at %p are not in shared memory", what, t->bytes, (void *)t->to);
  if ((uintptr_t)t->to % align) fail("%s: the shared address %u is not a multiple of %u", what, shared_address(t->to), align);
  need_fence(t->barrier);
  if constexpr (race::on) race::begin_copy(t->to, (size_t)t->bytes, true);
  async_view(); // from now on it takes what TMA writes
  if (block->early)
    finish(t);
  else
    block->pending.push_back(Pending{finish, t});
}

} // namespace

void load_tile(void *to, const void *map, uint64_t *barrier, int rank, const int *at) {
  Transfer *t = new Transfer{};
  memcpy(&t->map, map, sizeof t->map);
  const Tiles &m = t->map;
  if (m.mark != tensor_mark || (uintptr_t)map % 64)
    fail("tensor copy: %p is not a tensor map, or not a multiple of 64", map);
  if ((int)m.rank != rank) fail("tensor copy: %d coordinates for a map of %u dimensions", rank, m.rank);
  t->to = (unsigned char *)to;
  t->barrier = barrier;
  t->bytes = (int)m.element;
  for (int d = 0; d < rank; d++) {
    t->bytes *= (int)m.box[d];
    t->at[d] = at[d];
  }
  begin("tensor copy", t, 128);
}

void load_bulk(void *to, const void *from, unsigned bytes, uint64_t *barrier) {
  if (bytes % 16 || (uintptr_t)from % 16) fail("bulk copy: %u bytes from %p are not multiples of 16", bytes, from);
  begin("bulk copy", new Transfer{{}, (unsigned char *)to, (const unsigned char *)from, barrier, (int)bytes, {}}, 16);
}

} // namespace emu
