// thread.h: an emulated CUDA thread, its warp and its block, and how they wait.
//
// A block is run by one OS thread from start to end. Its CUDA threads are
// fibers that switch directly to each other; nothing preempts them, so between
// two waits a thread runs alone. Whatever needs several lanes is a collective:
// lanes leave their arguments and wait, the last one does the work for all.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fiber.h"

#include <vector>

namespace emu {

struct Dim {
  unsigned x, y, z;
};

// Site is a place in a kernel's source, for messages and for telling barriers
// apart: two lanes at different sites of a barrier have diverged.
struct Site {
  const char *file;
  int line;
};
#define EMU_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define EMU_HERE \
  ::emu::Site { file, line }

struct Warp;
struct Block;

// Copy is one cp.async that has not happened yet. A null source writes zeros.
struct Copy {
  void *to;
  const void *from;
  int bytes;
};

struct alignas(64) Thread : Context {
  Dim index;            // threadIdx
  unsigned linear;      // number inside the block
  Warp *warp;
  uint16_t lane;        // number inside the warp
  bool exited;
  bool waited;          // for the launch ahead of this one
  const char *what;     // the call that it waits in
  Site site;            // and where
  const void *address;  // the mbarrier that it waits for
  uint32_t parity;      // and the phase of it
  std::vector<Copy> copies;   // cp.async of the groups below, then of the open one
  std::vector<size_t> groups; // ends of the committed groups in copies
};

// Work of a collective for the lanes in mask; args has one pointer a lane.
using Work = void (*)(Warp &, uint32_t mask);

// Group is a collective that some lanes of its mask have not reached.
struct Group {
  uint32_t mask, arrived;
  Work work;
  Site site;
};

struct Products; // pending wgmma products of a warp (wgmma.h)

struct Warp {
  uint32_t live;          // lanes that have not exited
  uint32_t ready;         // lanes that can run
  unsigned number;        // number inside the block
  unsigned last, step;    // the lane that ran last; the next one is step lanes further
  int groups;             // open collectives
  Group group[32];
  void *args[32];
  Thread *thread[32];
  uint32_t at_barrier;    // lanes that wait at a barrier of the block
  int barrier, count;     // which one, with how many threads (0: all of the block)
  Site site;
  Products *products;
};

// Barrier is one of a block's 16 (PTX bar.sync).
struct Barrier {
  unsigned arrived;   // threads, counted in whole warps
  uint32_t warps;     // those that wait
  int count;          // threads that it needs; 0: all that have not exited
  Site site;
  int sum, result;    // true predicates so far, and of the last round
};

// Pending is an asynchronous copy that an mbarrier counts.
struct Pending {
  void (*run)(void *what);
  void *what;
};

struct Static {
  const void *slot;
  unsigned char *memory;
};

struct Block {
  Dim index, dim, grid;
  uint64_t number;
  unsigned threads, warps;
  unsigned live_warps;
  uint32_t ready;                 // warps with lanes that can run
  unsigned char *window;          // shared memory, aligned to its size
  unsigned char *dynamic;
  size_t dynamic_bytes, static_end;
  int statics;
  Static fixed[32];               // static shared variables met so far
  Barrier barrier[16];
  Warp *warp;                     // [warps]
  Thread *thread;                 // [threads]
  std::vector<Thread *> waiting;  // at an mbarrier
  std::vector<const uint64_t *> not_fenced; // mbarriers since the last fence for them
  std::vector<Pending> pending;   // asynchronous copies
  unsigned char *view;            // shared memory as the asynchronous proxy sees it (wgmma.h)
  bool fence_proxy;               // a fence was executed: the next barrier renews the view
  bool early;                     // copies complete at once instead of late
};

// The running CUDA thread and its block; null outside of kernels.
extern __thread Thread *self __attribute__((tls_model("initial-exec")));
extern __thread Block *block __attribute__((tls_model("initial-exec")));

// The emulated compute capability, 80 or 90, say. It selects the arithmetic of
// the tensor cores and what instructions exist.
extern int architecture;

// collective waits until all live lanes of mask are here; the last one calls
// work. A lane outside of mask, or another kind of work under the same mask,
// is an error. aligned: all lanes must be at the same site.
void collective(const char *what, Work work, void *args, uint32_t mask, Site site, bool aligned);

// renew_view is called when threads have synchronised.
void renew_view();
inline void synchronised() {
  if (__builtin_expect(block->fence_proxy, 0)) renew_view();
}

// maybe_yield lets others run, sometimes.
void maybe_yield();
// yield lets others run.
void yield();

// chance is true once in n calls, by the seed.
bool chance(unsigned n);

// fail ends the launch with a message that names kernel, block and thread.
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace emu
