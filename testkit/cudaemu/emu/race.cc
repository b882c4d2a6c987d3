// race.cc: see race.h.
#include "race.h"

#include "machine.h"
#include "memory.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#ifdef EMU_RACES

namespace emu::race {
namespace {

using Times = std::vector<uint32_t>;          // by thread of a block, the engine last
using Clock = std::shared_ptr<const Times>;   // null: nothing
using Blocks = std::map<uint64_t, Clock>;     // by number of the block
using View = std::shared_ptr<const Blocks>;

constexpr uint32_t under_way = ~0u;           // a write that has not ended

Clock join(const Clock &a, const Clock &b) {
  if (!b || a == b) return a;
  if (!a) return b;
  auto r = std::make_shared<Times>(*a);
  for (size_t i = 0; i < r->size(); i++) (*r)[i] = std::max((*r)[i], (*b)[i]);
  return r;
}

View join(const View &a, const View &b) {
  if (!b || a == b) return a;
  if (!a) return b;
  auto r = std::make_shared<Blocks>(*a);
  for (auto &e : *b) {
    Clock &c = (*r)[e.first];
    c = join(c, e.second);
  }
  return r;
}

Clock with(const Clock &c, size_t size, size_t thread, uint32_t time) {
  auto r = c ? std::make_shared<Times>(*c) : std::make_shared<Times>(size);
  (*r)[thread] = time;
  return r;
}

// What a thread knows of its own block and of others; what its atomics hand on,
// since its last fence; and what its atomics have met, known after the next one.
struct Knowledge {
  Clock own;
  View others, fenced, met;
};

struct State {
  Knowledge known;
  uint32_t time;
};

// Stamp is an access to some of 4 bytes.
struct Stamp {
  uint32_t block;
  uint32_t time;
  uint16_t thread;
  uint8_t bytes; // bits; 0: none
  bool atomic;
};
struct Cell {
  Stamp write[2], read[2];
};
struct Page {
  uint64_t generation = 0;
  Cell cells[1024];
};

struct Object {
  Knowledge handed;
};

struct All {
  std::vector<State> threads;
  size_t size = 0;                  // of clocks
  uint32_t engine_time = 1;
  uint64_t launch = 1, block = 1;   // generations of global and shared pages
  uint32_t highest = 1;             // time of any thread
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
  uintptr_t last = ~(uintptr_t)0;
  Page *last_page = nullptr;
  std::map<const void *, Object> objects;  // barriers
  std::map<const void *, View> atomics;
};
All &all() {
  static All *a = new All; // one OS thread only
  return *a;
}

State &of(const Thread &t) { return all().threads[t.linear]; }

Cell &cell(uintptr_t at, bool shared) {
  All &a = all();
  uintptr_t number = at >> 12;
  if (number != a.last) {
    std::unique_ptr<Page> &p = a.pages[number];
    if (!p) p.reset(new Page);
    a.last = number;
    a.last_page = p.get();
  }
  Page &p = *a.last_page;
  uint64_t generation = shared ? a.block << 1 | 1 : a.launch << 1;
  if (p.generation != generation) {
    p.generation = generation;
    memset(p.cells, 0, sizeof p.cells);
  }
  return p.cells[at >> 2 & 1023];
}

bool ordered(const Stamp &s, const State &me, size_t thread) {
  if (s.block == (uint32_t)block->number) {
    if (s.thread == thread && thread != block->threads) return true; // copies of the engine are not ordered
    return s.time != under_way && me.known.own && s.time <= (*me.known.own)[s.thread];
  }
  if (!me.known.others) return false;
  auto i = me.known.others->find(s.block);
  return i != me.known.others->end() && i->second && s.time <= (*i->second)[s.thread];
}

// name_of describes an address by a variable or an argument.
std::string name_of(const void *at) {
  char text[160];
  if (in_shared(at, 1)) {
    size_t offset = (size_t)((const unsigned char *)at - block->dynamic);
    if (offset < block->dynamic_bytes) {
      snprintf(text, sizeof text, "dynamic shared memory, byte %zu", offset);
      return text;
    }
    for (int i = 0; i < block->statics; i++) {
      const Slot *s = (const Slot *)block->fixed[i].slot;
      offset = (size_t)((const unsigned char *)at - block->fixed[i].memory);
      if (offset >= s->bytes) continue;
      snprintf(text, sizeof text, "the shared variable %s, byte %zu", s->name, offset);
      return text;
    }
    return "shared memory";
  }
  const Launch &l = machine->job->launch;
  int best = -1;
  uint64_t nearest = ~(uint64_t)0;
  for (int i = 0; i < l.kernel->parameters; i++) {
    if (l.kernel->sizes[i] != 8) continue;
    uint64_t a = *(uint64_t *)l.args[i];
    if (a <= (uint64_t)at && (uint64_t)at - a < nearest) {
      nearest = (uint64_t)at - a;
      best = i;
    }
  }
  if (best < 0 || nearest > 1u << 30) return "global memory";
  snprintf(text, sizeof text, "global memory, byte %llu after parameter %d", (unsigned long long)nearest, best);
  return text;
}

const char *const verbs[] = {"reads", "writes", "changes"};

void report(const void *at, Kind kind, const Thread &t, const Stamp &s, bool wrote) {
  char who[120];
  if (s.block != (uint32_t)block->number)
    snprintf(who, sizeof who, "thread %u of block number %u", s.thread, s.block);
  else if (s.thread == block->threads)
    snprintf(who, sizeof who, "TMA");
  else
    snprintf(who, sizeof who, "thread %u", s.thread);
  const char *what = !wrote ? "has read" : s.atomic ? "has changed by an atomic" : s.time == under_way ? "is writing" : "has written";
  const char *missing = s.block != (uint32_t)block->number ? "no __threadfence and atomic order them" : "no barrier orders them";
  if (&t == self)
    fail("race: it %s %s, which %s %s; %s", verbs[kind], name_of(at).c_str(), who, what, missing);
  fail("race: thread %u %s %s, which %s %s; %s", t.linear, verbs[kind], name_of(at).c_str(), who, what, missing);
}

// touch is an access to bytes of one cell, of a thread or of the engine on behalf
// of a thread.
void touch(const void *at, Cell &c, uint8_t bytes, Kind kind, const Thread &t, size_t as, uint32_t time) {
  const State &me = of(t);
  bool foreign_counts = kind != atomic;
  for (Stamp &s : c.write) {
    if (!(s.bytes & bytes) || ordered(s, me, as)) continue;
    if (s.atomic && kind == atomic) continue;
    if (s.block != (uint32_t)block->number && (s.atomic || !foreign_counts)) continue;
    report(at, kind, t, s, true);
  }
  Stamp mine{(uint32_t)block->number, time, (uint16_t)as, bytes, kind == atomic};
  if (kind == read) {
    for (Stamp &s : c.read)
      if (!s.bytes || (s.thread == as && s.block == mine.block) || ordered(s, me, as)) {
        if (s.thread == as && s.block == mine.block && s.time == time) mine.bytes |= s.bytes;
        s = mine;
        return;
      }
    c.read[time & 1] = mine;
    return;
  }
  for (Stamp &s : c.read) {
    if (!(s.bytes & bytes) || ordered(s, me, as)) continue;
    if (s.block != (uint32_t)block->number && !foreign_counts) continue;
    report(at, kind, t, s, false);
  }
  for (Stamp &s : c.read)
    if (!(s.bytes & ~bytes)) s.bytes = 0;
  for (Stamp &s : c.write)
    if (!s.bytes || (s.bytes & bytes) || (s.thread == as && s.block == mine.block)) {
      if (!(s.bytes & bytes) && s.thread == as && s.time == time) mine.bytes |= s.bytes;
      s = mine;
      for (Stamp &o : c.write)
        if (&o != &s && !(o.bytes & ~bytes)) o.bytes = 0;
      return;
    }
  c.write[time & 1] = mine;
}

void touch_range(const void *p, size_t n, Kind kind, const Thread &t, size_t as, uint32_t time) {
  uintptr_t at = (uintptr_t)p, end = at + n;
  bool shared = in_shared(p, 1);
  while (at < end) {
    uintptr_t next = std::min((at | 3) + 1, end);
    uint8_t bytes = (uint8_t)(((1u << (next - at)) - 1) << (at & 3));
    touch((const void *)at, cell(at, shared), bytes, kind, t, as, time);
    at = next;
  }
}

// ours says whether memory belongs to the emulation or to the thread's stack.
bool ours(const void *p) {
  const char *at = (const char *)p;
  const Stack *s = self->stack;
  if (at >= s->bottom && at < s->bottom + s->bytes + sizeof(Stack)) return true;
  return machine->owns(p);
}

Knowledge join(const Knowledge &a, const Knowledge &b) {
  return Knowledge{join(a.own, b.own), join(a.others, b.others), join(a.fenced, b.fenced), join(a.met, b.met)};
}

// including is what a thread knows, with what it did itself.
Knowledge including(const Thread &t) {
  const State &s = of(t);
  Knowledge k = s.known;
  k.own = with(k.own, all().size, t.linear, s.time);
  return k;
}

void later(const Thread &t) {
  State &s = of(t);
  s.time++;
  all().highest = std::max(all().highest, s.time);
}

} // namespace

void start_launch() {
  All &a = all();
  a.launch++;
  a.atomics.clear();
  if (a.pages.size() > 4096) {
    a.pages.clear();
    a.last = ~(uintptr_t)0;
  }
}

void start_block() {
  All &a = all();
  a.block++;
  a.objects.clear();
  a.size = block->threads + 1;
  // Times go on from block to block, so that nobody knows too much by accident.
  uint32_t start = ++a.highest;
  a.threads.assign(block->threads, State{Knowledge{}, start});
  a.engine_time = start;
  for (auto i = a.atomics.begin(); i != a.atomics.end();) i = in_shared(i->first, 1) ? a.atomics.erase(i) : std::next(i);
}

void access_of(const Thread &t, const void *at, size_t bytes, Kind kind) {
  touch_range(at, bytes, kind, t, t.linear, of(t).time);
}
void access(const void *at, size_t bytes, Kind kind) {
  if (!self || ours(at)) return;
  access_of(*self, at, bytes, kind);
}

// of_lanes joins what lanes know and have done.
static Knowledge of_lanes(Warp &w, uint32_t lanes) {
  Knowledge k;
  for (uint32_t m = lanes; m; m &= m - 1) k = join(k, of(*w.thread[__builtin_ctz(m)]).known);
  auto times = k.own ? std::make_shared<Times>(*k.own) : std::make_shared<Times>(all().size);
  for (uint32_t m = lanes; m; m &= m - 1) {
    const Thread &t = *w.thread[__builtin_ctz(m)];
    (*times)[t.linear] = of(t).time;
  }
  k.own = times;
  return k;
}

void together(Warp &w, uint32_t lanes) {
  Knowledge k = of_lanes(w, lanes);
  for (uint32_t m = lanes; m; m &= m - 1) {
    const Thread &t = *w.thread[__builtin_ctz(m)];
    of(t).known = k;
    later(t);
  }
}

void release(const Thread &t, const void *key) {
  Knowledge &handed = all().objects[key].handed;
  handed = join(handed, including(t));
  later(t);
}
void acquire(const Thread &t, const void *key) { of(t).known = join(of(t).known, all().objects[key].handed); }
void release_lanes(Warp &w, uint32_t lanes, const void *key) {
  Knowledge &handed = all().objects[key].handed;
  handed = join(handed, of_lanes(w, lanes));
  for (uint32_t m = lanes; m; m &= m - 1) later(*w.thread[__builtin_ctz(m)]);
}
void acquire_lanes(Warp &w, uint32_t lanes, const void *key) {
  const Knowledge &handed = all().objects[key].handed; // with what the lanes knew
  for (uint32_t m = lanes; m; m &= m - 1) of(*w.thread[__builtin_ctz(m)]).known = handed;
}
void forget(const void *key) { all().objects.erase(key); }

void fence() {
  const Thread &t = *self;
  State &s = of(t);
  uint64_t number = block->number;
  s.known.others = join(s.known.others, s.known.met);
  if (s.known.others) {
    auto i = s.known.others->find(number);
    if (i != s.known.others->end()) s.known.own = join(s.known.own, i->second);
  }
  auto handed = s.known.others ? std::make_shared<Blocks>(*s.known.others) : std::make_shared<Blocks>();
  (*handed)[number] = including(t).own;
  s.known.fenced = join(s.known.fenced, View(handed));
  later(t);
}

void at_atomic(const void *at) {
  if (!self) return;
  View &v = all().atomics[at];
  State &s = of(*self);
  v = join(v, s.known.fenced);
  s.known.met = join(s.known.met, v);
}

void begin_copy(void *to, size_t bytes, bool engine) {
  const Thread &t = *self;
  touch_range(to, bytes, write, t, engine ? block->threads : t.linear, under_way);
}
void end_copy(void *to, size_t bytes) { touch_range(to, bytes, write, *self, self->linear, of(*self).time); }

void end_engine_copy(void *to, size_t bytes, const void *key) {
  All &a = all();
  size_t engine = block->threads;
  // The check was made when the copy began; now only the time changes.
  for (uintptr_t at = (uintptr_t)to; at < (uintptr_t)to + bytes; at += 4)
    for (Stamp &s : cell(at, true).write)
      if (s.bytes && s.thread == engine && s.time == under_way) s.time = a.engine_time;
  Object &o = a.objects[key];
  Knowledge k;
  k.own = with(nullptr, a.size, engine, a.engine_time++);
  a.highest = std::max(a.highest, a.engine_time);
  o.handed = join(o.handed, k);
}

} // namespace emu::race

#endif
