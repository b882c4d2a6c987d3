// memory.cc: see memory.h.
#include "memory.h"

#include "machine.h"

#include <stdio.h>
#include <string.h>
#if EMU_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) (void)0
#define UNPOISON(p, n) (void)0
#endif

namespace emu {
namespace {

// Gaps hold a pattern that is neither NaN nor zero, so that what a kernel
// writes there differs.
constexpr unsigned char gap_byte = 0xa5;

size_t align_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

bool intact(const unsigned char *gap) {
  for (size_t i = 0; i < gap_bytes; i++)
    if (gap[i] != gap_byte) return false;
  return true;
}

void place_gap(unsigned char *at) {
  memset(at, gap_byte, gap_bytes);
  POISON(at, gap_bytes);
}

} // namespace

void open_window(Block &b, unsigned char *window, size_t dynamic_bytes) {
  UNPOISON(window, window_bytes);
  b.fence_proxy = false;
  b.window = window;
  b.dynamic = window + dynamic_at;
  b.dynamic_bytes = dynamic_bytes;
  b.statics = 0;
  memset(b.dynamic, 0xff, dynamic_bytes);
  place_gap(b.dynamic - gap_bytes);
  place_gap(b.dynamic + dynamic_bytes);
  b.static_end = align_up(dynamic_at + dynamic_bytes + gap_bytes, 128);
  POISON(window + b.static_end, window_bytes - b.static_end);
}

unsigned char *new_static(const Slot *slot) {
  Block &b = *block;
  size_t used = slot->bytes;
  for (int i = 0; i < b.statics; i++) used += ((const Slot *)b.fixed[i].slot)->bytes;
  if (used > static_limit) fail("static shared memory: %zu bytes with %s; the limit is %zu", used, slot->name, static_limit);
  if (used + b.dynamic_bytes > shared_limit)
    fail("shared memory: %zu static and %zu dynamic bytes; the limit is %zu", used, b.dynamic_bytes, shared_limit);
  if (b.statics == 32) fail("more than 32 static shared variables");
  size_t at = align_up(b.static_end, slot->align < 16 ? 16 : slot->align);
  if (at + slot->bytes + gap_bytes > window_bytes) fail("shared memory: the window of %zu bytes is full at %s", window_bytes, slot->name);
  unsigned char *p = b.window + at;
  UNPOISON(p, slot->bytes + gap_bytes);
  memset(p, 0xff, slot->bytes);
  place_gap(p + slot->bytes);
  b.static_end = at + slot->bytes + gap_bytes;
  b.fixed[b.statics++] = Static{slot, p};
  return p;
}

// The view is made when a block first needs it; before, nothing has been fenced.
unsigned char *async_view() {
  Block &b = *block;
  if (!b.view) {
    b.view = machine->view();
    memset(b.view, 0xff, window_bytes);
  }
  return b.view;
}

void renew_view() {
  Block &b = *block;
  b.fence_proxy = false;
  unsigned char *view = async_view();
  memcpy(view + dynamic_at, b.dynamic, b.dynamic_bytes);
  for (int i = 0; i < b.statics; i++)
    memcpy(view + (b.fixed[i].memory - b.window), b.fixed[i].memory, ((const Slot *)b.fixed[i].slot)->bytes);
}

void wrote_async(void *at, size_t bytes) {
  if (block->view) memcpy(block->view + ((unsigned char *)at - block->window), at, bytes);
}

void close_window(Block &b) {
  b.view = nullptr;
  UNPOISON(b.window, window_bytes);
  char text[256];
  if (!intact(b.dynamic - gap_bytes))
    machine->record("it has written below its dynamic shared memory");
  if (!intact(b.dynamic + b.dynamic_bytes)) {
    snprintf(text, sizeof text, "it has written past its dynamic shared memory of %zu bytes", b.dynamic_bytes);
    machine->record(text);
  }
  for (int i = 0; i < b.statics; i++) {
    const Slot *slot = (const Slot *)b.fixed[i].slot;
    if (intact(b.fixed[i].memory + slot->bytes)) continue;
    snprintf(text, sizeof text, "it has written past the shared variable %s of %zu bytes", slot->name, slot->bytes);
    machine->record(text);
  }
}

} // namespace emu
