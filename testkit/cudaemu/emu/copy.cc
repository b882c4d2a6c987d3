// copy.cc: see copy.h.
#include "copy.h"

#include "machine.h"
#include "memory.h"
#include "race.h"

namespace emu {
namespace {

void perform(const Copy &c) {
  if constexpr (race::on)
    if (c.from) race::access(c.from, (size_t)c.bytes, race::read);
  if (c.from)
    memcpy(c.to, c.from, (size_t)c.bytes);
  else
    memset(c.to, 0, (size_t)c.bytes);
}

} // namespace

void copy_async(void *shared, const void *global, int bytes, bool valid) {
  uintptr_t unit = (uintptr_t)bytes;
  if ((uintptr_t)shared % unit || (valid && (uintptr_t)global % unit))
    fail("cp.async of %d bytes: %p to %p is not aligned", bytes, global, shared);
  if (!in_shared(shared, unit)) fail("cp.async: the target %p is not in shared memory", shared);
  Copy c{shared, valid ? global : nullptr, bytes};
  if constexpr (race::on) race::begin_copy(shared, unit, false);
  if (block->early && !race::on)
    perform(c);
  else
    self->copies.push_back(c);
}

void commit_copies() { self->groups.push_back(self->copies.size()); }

void wait_copies(size_t open) {
  Thread *t = self;
  if (t->groups.size() <= open) return;
  size_t groups = t->groups.size() - open, n = t->groups[groups - 1];
  for (size_t i = 0; i < n; i++) perform(t->copies[i]);
  if constexpr (race::on)
    for (size_t i = 0; i < n; i++) race::end_copy(t->copies[i].to, (size_t)t->copies[i].bytes);
  t->copies.erase(t->copies.begin(), t->copies.begin() + (long)n);
  t->groups.erase(t->groups.begin(), t->groups.begin() + (long)groups);
  for (size_t &end : t->groups) end -= n;
}

void finish_copies() {
  Thread *t = self;
  for (const Copy &c : t->copies) perform(c);
  if constexpr (race::on)
    for (const Copy &c : t->copies) race::end_copy(c.to, (size_t)c.bytes);
  t->copies.clear();
  t->groups.clear();
}

} // namespace emu
