// atomics.h: integer atomics on shared and global memory. Blocks run on several
// OS threads, so they are atomics of the machine. Each may let other threads of
// the block run first, so that spinning on one cannot hang the block.
#pragma once

#include "thread.h"

namespace emu {
// T keeps the second argument from taking part in deducing the type.
template <class T> struct Same { using Type = T; };
template <class T> using Arg = typename Same<T>::Type;

template <class T, class F> inline T update(T *p, F change) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take integers of 32 or 64 bits");
  maybe_yield();
  T old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, change(old), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
} // namespace emu

// Each returns the old value.
template <class T> inline T atomicAdd(T *p, ::emu::Arg<T> v) {
  ::emu::maybe_yield();
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
template <class T> inline T atomicSub(T *p, ::emu::Arg<T> v) {
  ::emu::maybe_yield();
  return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED);
}
template <class T> inline T atomicAnd(T *p, ::emu::Arg<T> v) {
  ::emu::maybe_yield();
  return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);
}
template <class T> inline T atomicOr(T *p, ::emu::Arg<T> v) {
  ::emu::maybe_yield();
  return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
}
template <class T> inline T atomicXor(T *p, ::emu::Arg<T> v) {
  ::emu::maybe_yield();
  return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);
}
template <class T> inline T atomicExch(T *p, ::emu::Arg<T> v) {
  ::emu::maybe_yield();
  return __atomic_exchange_n(p, v, __ATOMIC_RELAXED);
}
template <class T> inline T atomicMax(T *p, ::emu::Arg<T> v) {
  return ::emu::update(p, [v](T old) { return old > v ? old : v; });
}
template <class T> inline T atomicMin(T *p, ::emu::Arg<T> v) {
  return ::emu::update(p, [v](T old) { return old < v ? old : v; });
}
// atomicInc wraps to zero after limit.
inline unsigned atomicInc(unsigned *p, unsigned limit) {
  return ::emu::update(p, [limit](unsigned old) { return old >= limit ? 0u : old + 1; });
}
template <class T> inline T atomicCAS(T *p, ::emu::Arg<T> expected, ::emu::Arg<T> v) {
  ::emu::maybe_yield();
  __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
