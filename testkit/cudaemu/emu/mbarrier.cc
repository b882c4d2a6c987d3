// mbarrier.cc: see mbarrier.h. The 64-bit word holds, from the low end: pending
// arrivals (20 bits), arrivals of a phase (20), pending bytes (22, signed),
// parity of the current phase (1). The top bit of a valid word is zero.
#include "mbarrier.h"

#include "copy.h"
#include "machine.h"
#include "memory.h"
#include "race.h"

#include <string.h>

namespace emu {
namespace {

struct Words {
  int pending, count, bytes;
  uint32_t parity;
};

Words read(const uint64_t *b) {
  if (!in_shared(b, 8) || (uintptr_t)b % 8) fail("mbarrier: %p is not in shared memory or not a multiple of 8", (const void *)b);
  uint64_t v = *b;
  if (v >> 63) fail("the mbarrier at shared address %u was not initialised", shared_address(b));
  int bytes = (int)(v >> 40 & 0x3fffff);
  return Words{(int)(v & 0xfffff), (int)(v >> 20 & 0xfffff), bytes >= 1 << 21 ? bytes - (1 << 22) : bytes, (uint32_t)(v >> 62 & 1)};
}

void write(uint64_t *b, const Words &w) {
  *b = (uint64_t)w.pending | (uint64_t)w.count << 20 | ((uint64_t)w.bytes & 0x3fffff) << 40 | (uint64_t)w.parity << 62;
}

// settle ends the phase if nothing is pending, and wakes those who wait for it.
void settle(uint64_t *b, Words w) {
  if (!w.pending && !w.bytes) {
    std::vector<Thread *> &waiting = block->waiting;
    for (size_t i = 0; i < waiting.size();) {
      Thread *t = waiting[i];
      if (t->address == b && t->parity == w.parity) {
        wake(t);
        waiting[i] = waiting.back();
        waiting.pop_back();
      } else {
        i++;
      }
    }
    w.pending = w.count;
    w.parity ^= 1;
  }
  write(b, w);
}

} // namespace

void mbarrier_start(uint64_t *b, unsigned count) {
  if (!in_shared(b, 8) || (uintptr_t)b % 8) fail("mbarrier: %p is not in shared memory or not a multiple of 8", (void *)b);
  if (!count || count >= 1 << 20) fail("mbarrier.init: a count of %u; it must be between 1 and %d", count, (1 << 20) - 1);
  write(b, Words{(int)count, (int)count, 0, 0});
  block->not_fenced.push_back(b);
  if constexpr (race::on) race::forget(b);
}

void fence_mbarriers() { block->not_fenced.clear(); }

void need_fence(const uint64_t *b) {
  for (const uint64_t *o : block->not_fenced)
    if (o == b) fail("the mbarrier at shared address %u is used by a copy, but no fence (mbarrier_fence_init) follows its initialisation", shared_address(b));
}

void mbarrier_arrivals(uint64_t *b, unsigned arrivals, int bytes) {
  maybe_yield();
  synchronised();
  Words w = read(b);
  if ((int)arrivals > w.pending) fail("mbarrier.arrive: more arrivals than the phase's %d", w.count);
  w.bytes += bytes;
  if (w.bytes >= 1 << 20 || w.bytes <= -(1 << 20)) fail("mbarrier: %d pending bytes are too many", w.bytes);
  w.pending -= (int)arrivals;
  if constexpr (race::on) race::release(*self, b);
  settle(b, w);
}

void mbarrier_received(uint64_t *b, int bytes) {
  Words w = read(b);
  w.bytes -= bytes;
  settle(b, w);
}

bool mbarrier_try(const uint64_t *b, uint32_t parity, Site site) {
  if (parity > 1) fail("mbarrier: parity %u; it must be 0 or 1", parity);
  if (chance(8)) { // hardware may give up
    yield();
    return false;
  }
  // The phase of parity p is complete while the current one has the other.
  if (read(b).parity != parity) {
    if constexpr (race::on) race::acquire(*self, b);
    return true;
  }
  Thread *t = self;
  t->address = b;
  t->parity = parity;
  block->waiting.push_back(t);
  wait("mbarrier.try_wait", site);
  if constexpr (race::on) race::acquire(*self, b);
  return true;
}

namespace {
struct After {
  std::vector<Copy> copies;
  uint64_t *barrier;
};
void finish_after(void *p) {
  After *a = (After *)p;
  for (const Copy &c : a->copies) {
    if (c.from)
      memcpy(c.to, c.from, (size_t)c.bytes);
    else
      memset(c.to, 0, (size_t)c.bytes);
  }
  Words w = read(a->barrier);
  w.pending--;
  settle(a->barrier, w);
  delete a;
}
} // namespace

void mbarrier_after_copies(uint64_t *b) {
  read(b);
  Thread *t = self;
  After *a = new After{t->copies, b};
  t->copies.clear();
  for (size_t &end : t->groups) end = 0;
  if constexpr (race::on) { // as if the thread waited and then arrived
    for (const Copy &c : a->copies) race::end_copy(c.to, (size_t)c.bytes);
    race::release(*t, b);
  }
  if (block->early)
    finish_after(a);
  else
    block->pending.push_back(Pending{finish_after, a});
}

} // namespace emu
