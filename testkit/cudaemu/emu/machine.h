// machine.h: what one OS thread needs to run blocks, kept between launches.
#pragma once

#include "fiber.h"
#include "kernel.h"
#include "memory.h"
#include "thread.h"

#include <atomic>
#include <mutex>
#include <string>

namespace emu {

// Job is a launch that several machines work on.
struct Job {
  Job(const Launch &l, uint64_t n) : launch(l), blocks(n) {}

  const Launch &launch;
  uint64_t blocks;
  uint64_t start = 0, step = 1;  // block i is number (start + i step) mod blocks
  std::atomic<uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex lock;
  std::string error;             // of the first failure
};

// choose returns a random set bit of bits, which is not zero; each is as likely.
inline unsigned choose(uint32_t bits, uint32_t random) {
  unsigned n = (unsigned)((uint64_t)random * (unsigned)__builtin_popcount(bits) >> 32);
#ifdef __BMI2__
  return (unsigned)__builtin_ctz(__builtin_ia32_pdep_si(1u << n, bits));
#else
  while (n--) bits &= bits - 1;
  return (unsigned)__builtin_ctz(bits);
#endif
}

class Machine;
extern __thread Machine *machine __attribute__((tls_model("initial-exec")));

class Machine {
public:
  ~Machine();
  void work(Job &job); // until no block is left

  // For running threads.
  inline Thread *pick();  // the next to run, or null
  inline void leave();    // runs others until the running thread can go on
  void exit_thread();
  void other_warp() {     // the next one to run is of a random warp
    if (block_.ready) last_warp_ = choose(block_.ready, random());
  }
  void record(const char *text); // an error of the running thread or block

  // random is the upper half of a linear congruential generator (Knuth's MMIX).
  uint32_t random() {
    rng_ = rng_ * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rng_ >> 32);
  }

  Job *job = nullptr;
  Stacks stacks;
  Context native{nullptr, &own_};

  // owns says whether memory is the scheduler's.
  bool owns(const void *p) const {
    auto in = [p](const void *from, const void *to) { return p >= from && p < to; };
    return in(this, this + 1) || in(threads_.data(), threads_.data() + threads_.size()) || in(warps_.data(), warps_.data() + warps_.size());
  }

  unsigned char *view() { return window_ + window_bytes; } // memory for the block's view

private:
  Warp *next_warp();      // one with lanes that can run, or null
  void prepare(const Launch &launch);
  void run_block(uint64_t number);
  std::string deadlock();

  Stack own_{};
  Block block_{};
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  unsigned last_warp_ = 0; // the warp that runs
  uint64_t rng_ = 0;
  unsigned char *window_ = nullptr;
};

// ready lets lanes of a warp run.
inline void ready(Warp &w, uint32_t lanes) {
  w.ready |= lanes;
  block->ready |= 1u << w.number;
}

void start_thread(); // what a stack begins with

// The lanes of a warp run in steps of an odd number of lanes, so that each comes
// once; shuffle chooses it anew when they have synchronised. The stack of the one
// after the next is fetched into the cache meanwhile.
inline void shuffle_order(Warp &w, uint32_t random) {
  w.step = random >> 27 | 1;
  w.last = random >> 22;
}

inline Thread *Machine::pick() {
  Warp *w = &block_.warp[last_warp_];
  if (__builtin_expect(!w->ready, 0) && !(w = next_warp())) return nullptr;
  unsigned lane = (w->last + w->step) & 31;
  if (__builtin_expect(!(w->ready >> lane & 1), 0)) lane = choose(w->ready, random());
  w->last = lane;
  w->ready &= ~(1u << lane);
  Thread *t = w->thread[lane], *after = w->thread[(lane + w->step) & 31];
  __builtin_prefetch(after->sp);
  __builtin_prefetch((char *)after->sp + 64);
  __builtin_prefetch((char *)after->sp + 128);
  return t;
}

inline void Machine::leave() {
  Thread *me = self, *next = pick();
  if (next == me) return;
  Context *to = &native; // if nobody can run, run_block reports a deadlock
  if (__builtin_expect(next != nullptr, 1)) {
    if (__builtin_expect(!next->stack, 0)) stacks.start(next, start_thread);
    to = next;
  }
  self = next;
  jump(me, to, !next);
}

// wake lets a thread run.
inline void wake(Thread *t) { ready(*t->warp, 1u << t->lane); }

// wait suspends the running thread until its lane is made ready.
inline void wait(const char *what, Site site) {
  Thread *t = self;
  t->what = what;
  t->site = site;
  machine->leave();
}

// What exiting lanes may complete.
void exited_from_barriers(Warp &w);
void exited_from_groups(Warp &w);

// Shared memory at the start and the end of a block.
void open_window(Block &b, unsigned char *window, size_t dynamic_bytes);
void close_window(Block &b);

void finish_products(Warp &w); // wgmma.cc: errors for what was never waited for
void reset_products(Warp &w);

} // namespace emu
