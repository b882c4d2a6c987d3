// fiber.cc: see fiber.h.
#include "fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef EMU_UCONTEXT
#include <ucontext.h>
#endif
#if EMU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emu {
namespace {

// A slab is 64 stacks side by side, each with its Stack at the upper, hot end.
// The odd number of cache lines between them keeps the hot ends of 1,024 stacks
// out of the same cache sets. AddressSanitizer's frames are larger.
constexpr size_t stack_bytes = (EMU_ASAN ? 256 << 10 : 32 << 10) + 17 * 64;
constexpr int slab_stacks = 64;
constexpr size_t slab_bytes = stack_bytes * slab_stacks;
constexpr uint64_t canary = 0x5afe57ac5afe57ac;

} // namespace

#ifdef EMU_UCONTEXT
void Stacks::start(Context *c, void (*entry)()) {
  if (free_.empty()) grow();
  Stack *s = c->stack = free_.back();
  free_.pop_back();
  if (!s->context) s->context = new ucontext_t;
  ucontext_t *u = (ucontext_t *)s->context;
  getcontext(u);
  u->uc_stack.ss_sp = s->bottom;
  u->uc_stack.ss_size = s->bytes;
  u->uc_link = nullptr;
  makecontext(u, entry, 0);
}
#else
void Stacks::start(Context *c, void (*entry)()) {
  if (free_.empty()) grow();
  Stack *s = c->stack = free_.back();
  free_.pop_back();
  void **sp = (void **)(((uintptr_t)s->bottom + s->bytes) & ~(uintptr_t)63);
  *--sp = nullptr;       // where a caller's address would be
  *--sp = (void *)entry; // taken by ret
  c->sp = sp;
}
#endif

#if defined(EMU_UCONTEXT) || EMU_ASAN
#ifndef EMU_UCONTEXT
extern "C" void emu_switch(Context *from, Context *to);
asm(R"(
.text
.hidden emu_switch
.globl emu_switch
.type emu_switch,@function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  leaq 1f(%rip), %rdx
  pushq %rdx
  movq %rsp, (%rdi)
  movq (%rsi), %rsp
  ret
1:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch, .-emu_switch
)");
#endif

void jump(Context *from, Context *to, bool final) {
#if EMU_ASAN
  __sanitizer_start_switch_fiber(final ? nullptr : &from->stack->fake, to->stack->bottom, to->stack->bytes);
#else
  (void)final;
#endif
#ifdef EMU_UCONTEXT
  if (!from->stack->context) from->stack->context = new ucontext_t;
  swapcontext((ucontext_t *)from->stack->context, (ucontext_t *)to->stack->context);
#else
  emu_switch(from, to);
#endif
#if EMU_ASAN
  __sanitizer_finish_switch_fiber(from->stack->fake, nullptr, nullptr);
#endif
}

void arrived(Context *native) {
#if EMU_ASAN
  const void *bottom;
  size_t bytes;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  if (!native->stack->bottom) {
    native->stack->bottom = (char *)bottom;
    native->stack->bytes = bytes;
  }
#else
  (void)native;
#endif
}
#endif

void Stacks::grow() {
  char *slab = (char *)mmap(nullptr, slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) abort();
  madvise(slab, slab_bytes, MADV_HUGEPAGE);
  slabs_.push_back(slab);
  for (int i = slab_stacks - 1; i >= 0; i--) {
    char *bottom = slab + stack_bytes * (size_t)i;
    Stack *s = (Stack *)(bottom + stack_bytes - 64);
    *s = Stack{bottom, stack_bytes - 64, nullptr, nullptr};
    memcpy(bottom, &canary, sizeof canary);
    all_.push_back(s);
    free_.push_back(s);
  }
}

bool Stacks::overflowed(const Stack *s) { return memcmp(s->bottom, &canary, sizeof canary) != 0; }

void Stacks::abandon() {
  free_ = all_;
#if EMU_ASAN
  for (Stack *s : all_) __asan_unpoison_memory_region(s->bottom, s->bytes);
#endif
}

Stacks::~Stacks() {
#ifdef EMU_UCONTEXT
  for (Stack *s : all_) delete (ucontext_t *)s->context;
#endif
  for (char *s : slabs_) munmap(s, slab_bytes);
}

} // namespace emu
