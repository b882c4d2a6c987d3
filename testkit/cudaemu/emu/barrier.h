// barrier.h: barriers of a block, and fences.
//
// Barriers are counted in warps, as hardware does: a warp has arrived when all
// of its lanes that have not exited are at the same barrier. Lanes of a warp at
// different barriers, sites or counts, and warps at different __syncthreads, are
// errors that name the threads. (PTX ISA: bar, barrier.)
#pragma once

#include "race.h"
#include "thread.h"

namespace emu {
// at_barrier waits at barrier id; count 0 means all threads of the block.
// It returns the number of threads whose predicate was true.
int at_barrier(const char *what, int id, int count, bool predicate, Site site);
void arrive_barrier(int id, int count, Site site);
} // namespace emu

inline void __syncthreads(EMU_SITE) { ::emu::at_barrier("__syncthreads", 0, 0, false, EMU_HERE); }
inline int __syncthreads_count(int predicate, EMU_SITE) {
  return ::emu::at_barrier("__syncthreads_count", 0, 0, predicate != 0, EMU_HERE);
}
inline int __syncthreads_or(int predicate, EMU_SITE) {
  return ::emu::at_barrier("__syncthreads_or", 0, 0, predicate != 0, EMU_HERE) != 0;
}
inline int __syncthreads_and(int predicate, EMU_SITE) {
  return ::emu::at_barrier("__syncthreads_and", 0, 0, predicate == 0, EMU_HERE) == 0;
}

// bar_sync and bar_arrive: barriers 0 to 15 for count threads, a multiple of 32.
inline void bar_sync(int id, int count, EMU_SITE) { ::emu::at_barrier("bar.sync", id, count, false, EMU_HERE); }
inline void bar_arrive(int id, int count, EMU_SITE) { ::emu::arrive_barrier(id, count, EMU_HERE); }

// Blocks of a launch may run on several OS threads, so fences are real. That one is
// missing shows in the build for races only (race.h).
inline void __threadfence() {
  if constexpr (::emu::race::on)
    ::emu::race::fence();
  else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }

// nanosleep lets other threads of the block run.
inline void nanosleep(unsigned) { ::emu::yield(); }
inline void __nanosleep(unsigned) { ::emu::yield(); }
