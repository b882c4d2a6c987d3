// warp.h: what the lanes of a warp do together: __syncwarp, shuffles, votes.
//
// The mask names the lanes that take part; those that have exited are not
// waited for. A value from a lane that does not take part is undefined in CUDA
// and all ones (NaN) here.
#pragma once

#include "thread.h"

#include <string.h>

namespace emu {

struct Exchange {
  uint64_t value; // in: this lane's; out: the source's
  unsigned source;
};
void exchange(Warp &w, uint32_t mask);

template <class T> inline T shuffle(const char *what, T value, unsigned source, uint32_t mask, Site site) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles take values of 4 or 8 bytes");
  Exchange e{0, source};
  memcpy(&e.value, &value, sizeof value);
  collective(what, exchange, &e, mask, site, false);
  memcpy(&value, &e.value, sizeof value);
  return value;
}

// Ballot: out, the lanes whose predicate is true, and those that took part.
struct Ballot {
  bool predicate;
  uint32_t set, lanes;
};
void count_ballot(Warp &w, uint32_t mask);

inline Ballot ballot(const char *what, bool predicate, uint32_t mask, Site site) {
  Ballot b{predicate, 0, 0};
  collective(what, count_ballot, &b, mask, site, false);
  return b;
}

void nothing(Warp &w, uint32_t mask);

// Reduction over the integers of the lanes in mask (sm_80 redux.sync).
enum class Reduce { add, min, max, both, either, differ };
struct Reduction {
  int64_t value;
  Reduce how;
};
void reduce(Warp &w, uint32_t mask);

template <class T> inline T reduction(const char *what, T value, Reduce how, uint32_t mask, Site site) {
  static_assert(sizeof(T) == 4, "redux takes 32-bit integers");
  Reduction r{(int64_t)value, how};
  collective(what, reduce, &r, mask, site, false);
  return (T)r.value;
}

} // namespace emu

// wait_for_previous waits for the launch ahead of this one (griddepcontrol.wait). Launches
// run one after the other here, so only threads that leave it out are found.
inline void wait_for_previous() { ::emu::self->waited = true; }

inline void __syncwarp(unsigned mask = 0xffffffffu, EMU_SITE) {
  ::emu::collective("__syncwarp", ::emu::nothing, nullptr, mask, EMU_HERE, false);
}

// Lanes are taken in groups of width, a power of two.
template <class T> inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, EMU_SITE) {
  unsigned lane = ::emu::self->lane;
  return ::emu::shuffle("__shfl_sync", value, (lane & ~(unsigned)(width - 1)) | ((unsigned)source & (unsigned)(width - 1)), mask, EMU_HERE);
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32, EMU_SITE) {
  unsigned lane = ::emu::self->lane, source = lane ^ (unsigned)with;
  // A source in a later group is out of range and leaves the lane its own value.
  if (source >= (lane & ~(unsigned)(width - 1)) + (unsigned)width) source = lane;
  return ::emu::shuffle("__shfl_xor_sync", value, source, mask, EMU_HERE);
}
template <class T> inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, EMU_SITE) {
  unsigned lane = ::emu::self->lane, at = lane & (unsigned)(width - 1);
  return ::emu::shuffle("__shfl_down_sync", value, at + by < (unsigned)width ? lane + by : lane, mask, EMU_HERE);
}
template <class T> inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, EMU_SITE) {
  unsigned lane = ::emu::self->lane, at = lane & (unsigned)(width - 1);
  return ::emu::shuffle("__shfl_up_sync", value, at >= by ? lane - by : lane, mask, EMU_HERE);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, EMU_SITE) {
  return ::emu::ballot("__ballot_sync", predicate != 0, mask, EMU_HERE).set;
}
inline int __any_sync(unsigned mask, int predicate, EMU_SITE) {
  return ::emu::ballot("__any_sync", predicate != 0, mask, EMU_HERE).set != 0;
}
inline int __all_sync(unsigned mask, int predicate, EMU_SITE) {
  ::emu::Ballot b = ::emu::ballot("__all_sync", predicate != 0, mask, EMU_HERE);
  return b.set == b.lanes;
}

template <class T> inline T __reduce_add_sync(unsigned mask, T v, EMU_SITE) { return ::emu::reduction("__reduce_add_sync", v, ::emu::Reduce::add, mask, EMU_HERE); }
template <class T> inline T __reduce_min_sync(unsigned mask, T v, EMU_SITE) { return ::emu::reduction("__reduce_min_sync", v, ::emu::Reduce::min, mask, EMU_HERE); }
template <class T> inline T __reduce_max_sync(unsigned mask, T v, EMU_SITE) { return ::emu::reduction("__reduce_max_sync", v, ::emu::Reduce::max, mask, EMU_HERE); }
inline unsigned __reduce_and_sync(unsigned mask, unsigned v, EMU_SITE) { return ::emu::reduction("__reduce_and_sync", v, ::emu::Reduce::both, mask, EMU_HERE); }
inline unsigned __reduce_or_sync(unsigned mask, unsigned v, EMU_SITE) { return ::emu::reduction("__reduce_or_sync", v, ::emu::Reduce::either, mask, EMU_HERE); }
inline unsigned __reduce_xor_sync(unsigned mask, unsigned v, EMU_SITE) { return ::emu::reduction("__reduce_xor_sync", v, ::emu::Reduce::differ, mask, EMU_HERE); }
