// barrier.cc: see barrier.h.
#include "emu.h"
#include "machine.h"

namespace emu {
namespace {

bool same(Site a, Site b) { return a.line == b.line && a.file == b.file; }

// complete lets everybody go on if enough threads have arrived.
void complete(Barrier &r) {
  unsigned need = r.count ? (unsigned)r.count : block->live_warps * 32;
  if (!r.arrived || r.arrived < need) return;
  synchronised();
  uint32_t warps = r.warps;
  r.arrived = 0;
  r.warps = 0;
  r.result = r.sum;
  r.sum = 0;
  for (; warps; warps &= warps - 1) {
    Warp &w = block->warp[__builtin_ctz(warps)];
    if constexpr (race::on) race::acquire_lanes(w, w.at_barrier, &r);
    ready(w, w.at_barrier);
    w.at_barrier = 0;
    shuffle_order(w, machine->random());
  }
  if constexpr (race::on) race::forget(&r);
}

void warp_arrives(Barrier &r, Warp &w, int count, Site site, const char *what) {
  if (r.arrived) {
    if (r.count != count)
      fail("barrier divergence: %s (%s:%d) counts %d threads, but others wait for %d at the same barrier (%s:%d)", what,
           site.file, site.line, count, r.count, r.site.file, r.site.line);
    if (!count && !same(site, r.site))
      fail("barrier divergence: warp %u is at %s (%s:%d), but others wait at %s:%d", w.number, what, site.file, site.line,
           r.site.file, r.site.line);
  }
  r.count = count;
  r.site = site;
  r.arrived += 32;
  if constexpr (race::on) race::release_lanes(w, w.live, &r);
}

inline void check(const char *what, int id, int count) {
  if (__builtin_expect(id >= 0 && id < 16 && count % 32 == 0 && count >= 0 && count <= (int)block->warps * 32, 1)) return;
  if (id < 0 || id > 15) fail("%s: barrier %d does not exist; there are 0 to 15", what, id);
  fail("%s: %d threads; the number must be a multiple of 32 and at most the block's %u", what, count, block->warps * 32);
}

struct Arrival {
  int id, count;
  Site site;
};

void arrive(Warp &w, uint32_t mask) {
  Arrival &a = *(Arrival *)w.args[__builtin_ctz(mask)];
  for (uint32_t m = mask; m; m &= m - 1) {
    Arrival &b = *(Arrival *)w.args[__builtin_ctz(m)];
    if (b.id != a.id || b.count != a.count) fail("bar.arrive: lanes of a warp name different barriers");
  }
  Barrier &r = block->barrier[a.id];
  warp_arrives(r, w, a.count, a.site, "bar.arrive");
  complete(r);
}

} // namespace

int at_barrier(const char *what, int id, int count, bool predicate, Site site) {
  check(what, id, count);
  Thread *t = self;
  Warp &w = *t->warp;
  if (!w.at_barrier) {
    w.barrier = id;
    w.count = count;
    w.site = site;
  } else if (w.barrier != id || w.count != count || !same(w.site, site)) {
    unsigned other = (unsigned)__builtin_ctz(w.at_barrier);
    fail("barrier divergence: it is at %s (%s:%d), but thread %u of the same warp waits at barrier %d (%s:%d)", what,
         site.file, site.line, w.thread[other]->linear, w.barrier, w.site.file, w.site.line);
  }
  Barrier &r = block->barrier[id];
  r.sum += predicate;
  w.at_barrier |= 1u << t->lane;
  if (w.at_barrier == w.live) {
    warp_arrives(r, w, count, site, what);
    r.warps |= 1u << w.number;
    complete(r);
    if (!w.at_barrier) { // it was the last warp
      w.ready &= ~(1u << t->lane);
      if (chance(2)) yield();
      return r.result;
    }
  }
  wait(what, site);
  return r.result;
}

void arrive_barrier(int id, int count, Site site) {
  check("bar.arrive", id, count);
  if (!count) fail("bar.arrive needs a number of threads");
  Arrival a{id, count, site};
  collective("bar.arrive", arrive, &a, 0xffffffffu, site, true);
}

void exited_from_barriers(Warp &w) {
  if (w.live) {
    if (w.at_barrier != w.live) return;
    Barrier &r = block->barrier[w.barrier];
    warp_arrives(r, w, w.count, w.site, "a barrier");
    r.warps |= 1u << w.number;
    complete(r);
    return;
  }
  for (Barrier &r : block->barrier)
    if (!r.count) complete(r);
}

} // namespace emu
