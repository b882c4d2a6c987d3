// warp.cc: collectives, shuffles and votes; see thread.h and warp.h.
#include "warp.h"

#include "machine.h"
#include "race.h"

namespace emu {
namespace {

void finish(Warp &w, Group *g) {
  Group done = *g;
  *g = w.group[--w.groups];
  synchronised();
  done.work(w, done.arrived);
  ready(w, done.arrived);
}

} // namespace

void collective(const char *what, Work work, void *args, uint32_t mask, Site site, bool aligned) {
  Thread *t = self;
  Warp &w = *t->warp;
  uint32_t bit = 1u << t->lane;
  if (!(mask & bit)) fail("%s (%s:%d): lane %u is not in its own mask %08x", what, site.file, site.line, t->lane, mask);
  w.args[t->lane] = args;
  Group *g = nullptr;
  for (int i = 0; i < w.groups; i++)
    if (w.group[i].mask == mask) g = &w.group[i];
  if (!g) {
    g = &w.group[w.groups++];
    *g = Group{mask, 0, work, site};
  } else if (g->work != work || (aligned && (g->site.line != site.line || g->site.file != site.file))) {
    unsigned other = (unsigned)__builtin_ctz(g->arrived);
    fail("the warp has diverged: it is at %s (%s:%d), but thread %u of the same warp waits at %s (%s:%d)", what, site.file,
         site.line, w.thread[other]->linear, w.thread[other]->what, g->site.file, g->site.line);
  }
  g->arrived |= bit;
  if (g->arrived == (mask & w.live)) {
    finish(w, g);
    w.ready &= ~bit;
    uint32_t random = machine->random();
    shuffle_order(w, random);
    if (random % 16 == 0) yield(); // another warp may run ahead
    return;
  }
  wait(what, site);
}

void exited_from_groups(Warp &w) {
  for (int i = 0; i < w.groups;) {
    Group &g = w.group[i];
    if (g.arrived == (g.mask & w.live))
      finish(w, &g);
    else
      i++;
  }
}

void nothing(Warp &w, uint32_t lanes) {
  if constexpr (race::on) race::together(w, lanes);
}

void exchange(Warp &w, uint32_t mask) {
  uint64_t value[32];
  for (uint32_t m = mask; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    value[l] = ((Exchange *)w.args[l])->value;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    Exchange &e = *(Exchange *)w.args[__builtin_ctz(m)];
    unsigned from = e.source & 31;
    e.value = mask >> from & 1 ? value[from] : ~(uint64_t)0;
  }
}

void count_ballot(Warp &w, uint32_t mask) {
  uint32_t set = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    if (((Ballot *)w.args[l])->predicate) set |= 1u << l;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    Ballot &b = *(Ballot *)w.args[__builtin_ctz(m)];
    b.set = set;
    b.lanes = mask;
  }
}

void reduce(Warp &w, uint32_t mask) {
  Reduction &a = *(Reduction *)w.args[__builtin_ctz(mask)];
  int64_t sum = a.value;
  for (uint32_t m = mask & (mask - 1); m; m &= m - 1) {
    Reduction &b = *(Reduction *)w.args[__builtin_ctz(m)];
    if (b.how != a.how) fail("lanes of a warp reduce in different ways");
    switch (a.how) {
    case Reduce::add: sum += b.value; break;
    case Reduce::min: sum = b.value < sum ? b.value : sum; break;
    case Reduce::max: sum = b.value > sum ? b.value : sum; break;
    case Reduce::both: sum &= b.value; break;
    case Reduce::either: sum |= b.value; break;
    case Reduce::differ: sum ^= b.value; break;
    }
  }
  for (uint32_t m = mask; m; m &= m - 1) ((Reduction *)w.args[__builtin_ctz(m)])->value = sum;
}

} // namespace emu
