// race_calls.cc: the functions that g++ calls with -fsanitize=thread.
#include "race.h"

#include <string.h>

#ifdef EMU_RACES

using namespace emu::race;

extern "C" {

void __tsan_init(void) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}

#define ACCESS(n)                                                        \
  void __tsan_read##n(void *p) { access(p, n, read); }                   \
  void __tsan_write##n(void *p) { access(p, n, write); }                 \
  void __tsan_unaligned_read##n(void *p) { access(p, n, read); }         \
  void __tsan_unaligned_write##n(void *p) { access(p, n, write); }       \
  void __tsan_volatile_read##n(void *p) { access(p, n, read); }          \
  void __tsan_volatile_write##n(void *p) { access(p, n, write); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
void __tsan_read_range(void *p, size_t n) { access(p, n, read); }
void __tsan_write_range(void *p, size_t n) { access(p, n, write); }
void *__tsan_memcpy(void *to, const void *from, size_t n) {
  access(from, n, read);
  access(to, n, write);
  return memcpy(to, from, n);
}
void *__tsan_memset(void *to, int v, size_t n) {
  access(to, n, write);
  return memset(to, v, n);
}

// Atomics are relaxed in CUDA; fences order (emu.h's __threadfence).
#define UPDATE(bits, T, name, builtin)                           \
  T __tsan_atomic##bits##_##name(volatile T *p, T v, int) {      \
    access((const void *)p, sizeof(T), atomic);                  \
    at_atomic((const void *)p);                                  \
    return builtin(p, v, __ATOMIC_SEQ_CST);                      \
  }
#define COMPARE(bits, T, name)                                                                              \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile T *p, T *expected, T v, int, int) {            \
    access((const void *)p, sizeof(T), atomic);                                                             \
    at_atomic((const void *)p);                                                                             \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
  }
#define ATOMICS(bits, T)                                          \
  T __tsan_atomic##bits##_load(const volatile T *p, int) {        \
    access((const void *)p, sizeof(T), atomic);                   \
    at_atomic((const void *)p);                                   \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                  \
  }                                                               \
  void __tsan_atomic##bits##_store(volatile T *p, T v, int) {     \
    access((const void *)p, sizeof(T), atomic);                   \
    at_atomic((const void *)p);                                   \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                     \
  }                                                               \
  UPDATE(bits, T, exchange, __atomic_exchange_n)                  \
  UPDATE(bits, T, fetch_add, __atomic_fetch_add)                  \
  UPDATE(bits, T, fetch_sub, __atomic_fetch_sub)                  \
  UPDATE(bits, T, fetch_and, __atomic_fetch_and)                  \
  UPDATE(bits, T, fetch_or, __atomic_fetch_or)                    \
  UPDATE(bits, T, fetch_xor, __atomic_fetch_xor)                  \
  COMPARE(bits, T, strong)                                        \
  COMPARE(bits, T, weak)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}
}

#endif
