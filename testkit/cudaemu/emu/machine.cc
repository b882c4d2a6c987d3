// machine.cc: the scheduler of a block's threads.
//
// A thread that has to wait picks the next one and switches to it directly. The
// choice is random among the lanes of the same warp that can run; when there
// are none, or sometimes after a collective, among all warps. So a warp runs
// ahead of the others as far as barriers let it.
#include "machine.h"

#include "race.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

namespace emu {

__thread Thread *self = nullptr;
__thread Block *block = nullptr;
__thread Machine *machine = nullptr;

bool chance(unsigned n) { return machine->random() % n == 0; }

Warp *Machine::next_warp() {
  block_.ready &= ~(1u << last_warp_);
  for (;;) {
    if (block_.ready) {
      last_warp_ = choose(block_.ready, random());
      Warp *w = &block_.warp[last_warp_];
      if (w->ready) return w;
      block_.ready &= ~(1u << last_warp_);
      continue;
    }
    // Nothing can run: now the latest moment of asynchronous copies has come.
    if (block_.pending.empty()) return nullptr;
    size_t i = random() % block_.pending.size();
    Pending p = block_.pending[i];
    block_.pending.erase(block_.pending.begin() + (long)i);
    p.run(p.what);
  }
}

void start_thread() {
  arrived(&machine->native);
  for (;;) {
    Machine *m = machine;
    const Launch &l = m->job->launch;
    l.kernel->call(l.kernel->function, l.args);
    Thread *me = self;
    if (Stacks::overflowed(me->stack)) { // what lay behind it is lost
      fprintf(stderr, "emulation: kernel %s needs more stack than a thread has\n", l.kernel->name);
      abort();
    }
    m->exit_thread();
    Thread *next = m->pick();
    self = next;
    if (next && !next->stack) { // it starts on this stack
      next->stack = me->stack;
      continue;
    }
    m->stacks.give(me->stack);
    jump(me, next ? (Context *)next : &m->native, true);
  }
}

void yield() {
  wake(self);
  machine->other_warp();
  machine->leave();
}

void maybe_yield() {
  if (machine->random() % 8 == 0) yield();
}

void Machine::exit_thread() {
  Thread *t = self;
  Warp &w = *t->warp;
  if (job->launch.overlaps && !t->waited) record("it may begin before the launch ahead of it has ended, and ended without wait_for_previous()");
  t->exited = true;
  w.live &= ~(1u << t->lane);
  if (!w.live) {
    block_.live_warps--;
    finish_products(w);
  }
  if (w.groups) exited_from_groups(w);
  exited_from_barriers(w);
}

void Machine::prepare(const Launch &l) {
  unsigned n = l.block.x * l.block.y * l.block.z, warps = (n + 31) / 32;
  if (threads_.size() < n) {
    threads_.resize(n);
    warps_.resize((n + 31) / 32);
  }
  block_.dim = l.block;
  block_.grid = l.grid;
  block_.threads = n;
  block_.warps = warps;
  block_.warp = warps_.data();
  block_.thread = threads_.data();
  if (!window_) {
    char *p = (char *)mmap(nullptr, 3 * window_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) abort();
    window_ = (unsigned char *)(((uintptr_t)p + window_bytes - 1) & ~(uintptr_t)(window_bytes - 1));
  }
}

Machine::~Machine() {
  for (Warp &w : warps_) reset_products(w);
}

// deadlock names one thread for each place where threads wait.
std::string Machine::deadlock() {
  std::string text = "deadlock:";
  Thread *seen[8];
  int kinds = 0;
  for (unsigned i = 0; i < block_.threads && kinds < 8; i++) {
    Thread &t = block_.thread[i];
    if (t.exited) continue;
    bool known = false;
    for (int k = 0; k < kinds; k++) known |= seen[k]->what == t.what && seen[k]->site.line == t.site.line;
    if (known) continue;
    seen[kinds++] = &t;
    char line[512];
    snprintf(line, sizeof line, " thread %u waits at %s (%s:%d);", i, t.what, t.site.file, t.site.line);
    text += line;
  }
  return text + " the others have exited or wait elsewhere";
}

void Machine::run_block(uint64_t number) {
  const Launch &l = job->launch;
  Block &b = block_;
  b.number = number;
  b.index = {(unsigned)(number % l.grid.x), (unsigned)(number / l.grid.x % l.grid.y),
             (unsigned)(number / ((uint64_t)l.grid.x * l.grid.y))};
  rng_ = (l.seed * 0x9e3779b97f4a7c15u + number) * 0xbf58476d1ce4e5b9u + 1;
  random();
  b.live_warps = b.warps;
  b.ready = b.warps == 32 ? ~0u : (1u << b.warps) - 1;
  b.early = l.early;
  b.waiting.clear();
  b.pending.clear();
  b.not_fenced.clear();
  for (Barrier &r : b.barrier) r = Barrier{};
  for (unsigned i = 0; i < b.warps; i++) {
    Warp &w = b.warp[i];
    unsigned lanes = b.threads - i * 32 < 32 ? b.threads - i * 32 : 32;
    w.live = w.ready = lanes == 32 ? ~0u : (1u << lanes) - 1;
    w.number = i;
    w.groups = 0;
    w.at_barrier = 0;
    shuffle_order(w, random());
    for (unsigned l = lanes; l < 32; l++) w.thread[l] = &b.thread[i * 32]; // only looked at
    reset_products(w);
  }
  for (unsigned i = 0; i < b.threads; i++) {
    Thread &t = b.thread[i];
    t.index = {i % b.dim.x, i / b.dim.x % b.dim.y, i / (b.dim.x * b.dim.y)};
    t.linear = i;
    t.lane = i % 32;
    t.warp = &b.warp[i / 32];
    t.warp->thread[t.lane] = &t;
    t.exited = t.waited = false;
    t.stack = nullptr;
    t.sp = nullptr;
    t.copies.clear();
    t.groups.clear();
  }
  block = &b;
  open_window(b, window_, l.dynamic_bytes);
  if constexpr (race::on) race::start_block();
  last_warp_ = choose(b.ready, random());

  self = pick();
  stacks.start(self, start_thread);
  jump(&native, self, false);
  self = nullptr;
  if (b.live_warps && !job->failed) record(deadlock().c_str());
  if (job->failed) stacks.abandon();
  close_window(b);
  block = nullptr;
}

void Machine::work(Job &j) {
  job = &j;
  machine = this;
  prepare(j.launch);
  for (uint64_t i; !j.failed && (i = j.next++) < j.blocks;) run_block((j.start + (unsigned __int128)i * j.step) % j.blocks);
  job = nullptr;
}

void Machine::record(const char *text) {
  Dim b = block_.index;
  char where[256];
  int n = snprintf(where, sizeof where, "kernel %s, block (%u,%u,%u)", job->launch.kernel->name, b.x, b.y, b.z);
  if (self) snprintf(where + n, sizeof where - (size_t)n, ", thread %u", self->linear);
  std::lock_guard<std::mutex> hold(job->lock);
  if (job->error.empty()) job->error = std::string(where) + ": " + text;
  job->failed = true;
}

void fail(const char *format, ...) {
  char text[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (!machine || !machine->job || !self) {
    fprintf(stderr, "emulation: %s\n", text);
    abort();
  }
  machine->record(text);
  jump(self, &machine->native, true);
  __builtin_unreachable();
}

} // namespace emu
