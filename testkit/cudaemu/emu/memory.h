// memory.h: shared memory of a block.
//
// A block's shared memory is a window of 256 KiB, aligned to its size, so that
// the low 18 bits of an address are the address inside the window, which is
// what descriptors of wgmma hold. The dynamic part comes first, at 1,152: a
// kernel that needs more than 128 bytes of alignment must see to it. Static
// variables follow in the order in which the block meets them. Everything is
// filled with 0xff (NaN) when the block starts; gaps are checked when it ends.
#pragma once

#include "thread.h"

namespace emu {

constexpr size_t window_bytes = 256 << 10;
constexpr size_t dynamic_at = 1024 + 128;
constexpr size_t static_limit = 48 << 10;   // what ptxas accepts
constexpr size_t shared_limit = 227 << 10;  // of a block, sm_90
constexpr size_t gap_bytes = 128;           // between variables

// Slot is the identity of one static shared variable.
struct Slot {
  const char *name;
  size_t bytes, align;
};

unsigned char *new_static(const Slot *slot);

inline unsigned char *static_shared(const Slot *slot) {
  Block *b = block;
  for (int i = 0; i < b->statics; i++)
    if (b->fixed[i].slot == slot) return b->fixed[i].memory;
  return new_static(slot);
}

inline unsigned char *dynamic_shared() { return block->dynamic; }

// in_shared says whether [p, p+bytes) lies in the block's shared window.
inline bool in_shared(const void *p, size_t bytes) {
  uintptr_t at = (uintptr_t)p - (uintptr_t)block->window;
  return at < window_bytes && bytes <= window_bytes - at;
}

// shared_address is the address inside the window, as
// __cvta_generic_to_shared gives it.
inline uint32_t shared_address(const void *p) {
  if (!in_shared(p, 1)) fail("%p is not an address in shared memory", p);
  return (uint32_t)((uintptr_t)p - (uintptr_t)block->window);
}

// async_view is the block's shared memory as wgmma sees it; wrote_async puts what
// TMA has written there into it.
unsigned char *async_view();
void wrote_async(void *at, size_t bytes);

} // namespace emu

// SHARED(float, partial, [4][32]); declares static shared memory.
#define SHARED(type, name, ...)                                                           \
  using name##_type = type __VA_ARGS__;                                                   \
  static constexpr ::emu::Slot name##_slot{#name, sizeof(name##_type), alignof(name##_type)}; \
  name##_type &name = *(name##_type *)::emu::static_shared(&name##_slot)

// DYNAMIC_SHARED(name); is the dynamic part, unsigned char*, aligned to 128 bytes.
#define DYNAMIC_SHARED(name) unsigned char *const name = ::emu::dynamic_shared()

inline uint32_t shared_address(const void *p) { return ::emu::shared_address(p); }
