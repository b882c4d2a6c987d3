// race.h: finds accesses that nothing orders, whatever the schedule was.
//
// In the build for races (-DEMU_RACES) g++ calls a function before each access of
// a kernel (-fsanitize=thread, with functions of ours: race_calls.cc). The rules
// are those of happens-before (FastTrack: Flanagan and Freund, PLDI 2009) with what
// CUDA promises (PTX ISA: "Memory Consistency Model"):
//   - __syncthreads, bar.sync and bar.arrive, __syncwarp and mbarriers order what
//     threads of a block did before with what others do after. Shuffles, votes,
//     mma and ldmatrix order nothing.
//   - Between blocks, a write is seen by who reads it after: the writer's, or after
//     a barrier its block's, __threadfence; an atomic; an atomic of the reader's
//     block on the same address; __threadfence again; and the read, in the same
//     thread or after a barrier. Inside a block, fences and atomics do so as well.
//   - cp.async and TMA write from their start to the wait for them.
//   - Atomics do not race with each other.
// Two readers and two writers are kept for each 4 bytes, so a race with many
// threads is found, one with a particular third thread may be missed. One OS thread
// runs all blocks.
#pragma once

#include "thread.h"

namespace emu::race {

#ifdef EMU_RACES
constexpr bool on = true;
#else
constexpr bool on = false;
#endif

enum Kind { read, write, atomic };

// access is that of the running thread, or of another one.
void access(const void *at, size_t bytes, Kind kind);
void access_of(const Thread &t, const void *at, size_t bytes, Kind kind);

void start_launch();
void start_block();
// together: threads of a warp have synchronised.
void together(Warp &w, uint32_t lanes);
// release hands on what a thread has done to those who acquire; key names a barrier
// or an mbarrier. forget drops what was handed on.
void release(const Thread &t, const void *key);
void acquire(const Thread &t, const void *key);
void forget(const void *key);
// The same for lanes of a warp, who acquire only after they have released.
void release_lanes(Warp &w, uint32_t lanes, const void *key);
void acquire_lanes(Warp &w, uint32_t lanes, const void *key);

void fence();                       // __threadfence of the running thread
void at_atomic(const void *at);     // an atomic of it

// begin_copy notes that bytes will be written some time until end_copy, by cp.async
// of the running thread or, with engine, by TMA, which then releases to key.
void begin_copy(void *to, size_t bytes, bool engine);
void end_copy(void *to, size_t bytes);
void end_engine_copy(void *to, size_t bytes, const void *key);

} // namespace emu::race
