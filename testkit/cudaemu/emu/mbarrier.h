// mbarrier.h: barriers in shared memory that also count bytes of asynchronous
// copies. (PTX ISA: mbarrier.)
//
// A phase is complete when no arrival and no byte is pending. An object that was
// never initialised is found out: its word is still NaN.
#pragma once

#include "thread.h"

namespace emu {
void mbarrier_start(uint64_t *b, unsigned count);
void mbarrier_arrivals(uint64_t *b, unsigned arrivals, int bytes); // bytes are added to those expected
void mbarrier_received(uint64_t *b, int bytes);
void fence_mbarriers();
void need_fence(const uint64_t *b); // fails if b was initialised and not fenced
bool mbarrier_try(const uint64_t *b, uint32_t parity, Site site);
void mbarrier_after_copies(uint64_t *b);
} // namespace emu

inline void mbarrier_init(uint64_t *b, unsigned count) { ::emu::mbarrier_start(b, count); }
inline void mbarrier_inval(uint64_t *b) { *b = ~(uint64_t)0; }
inline void mbarrier_arrive(uint64_t *b) { ::emu::mbarrier_arrivals(b, 1, 0); }
// mbarrier_expect_tx expects bytes and arrives (mbarrier.arrive.expect_tx).
inline void mbarrier_expect_tx(uint64_t *b, unsigned bytes) { ::emu::mbarrier_arrivals(b, 1, (int)bytes); }
// mbarrier_try_wait says whether the phase of that parity is complete. It lets
// others run first and, as on hardware, may say no although nothing is missing.
inline bool mbarrier_try_wait(uint64_t *b, uint32_t parity, EMU_SITE) { return ::emu::mbarrier_try(b, parity, EMU_HERE); }
// mbarrier_wait waits for it.
inline void mbarrier_wait(uint64_t *b, uint32_t parity, EMU_SITE) {
  while (!::emu::mbarrier_try(b, parity, EMU_HERE)) {
  }
}
// cp_async_mbarrier_arrive arrives when all earlier cp.async of this thread are
// complete (cp.async.mbarrier.arrive.noinc).
inline void cp_async_mbarrier_arrive(uint64_t *b) { ::emu::mbarrier_after_copies(b); }
// mbarrier_fence_init must follow the initialisation of those that copies use.
inline void mbarrier_fence_init() { ::emu::fence_mbarriers(); }
