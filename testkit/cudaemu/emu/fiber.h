// fiber.h: stacks and the switch between them.
//
// CUDA threads get a stack when they start and give it back when they end, so
// threads that never wait share one.
#pragma once

#include <stddef.h>

#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define EMU_ASAN 1
#else
#define EMU_ASAN 0
#endif
// The switch is our own on amd64. Elsewhere, or on demand, it is libc's.
#if !defined(__x86_64__) && !defined(EMU_UCONTEXT)
#define EMU_UCONTEXT
#endif

namespace emu {

struct Stack {
  char *bottom;  // lowest address; null for the OS thread's own stack
  size_t bytes;
  void *fake;    // AddressSanitizer's shadow stack
  void *context; // of libc
};

// Context is where something that was suspended goes on.
struct Context {
  void *sp;
  Stack *stack; // null: not started
};

// Stacks is a pool of one OS thread. It never shrinks.
class Stacks {
public:
  // start gives a context a stack; it will begin at entry, which must never return.
  void start(Context *c, void (*entry)());
  void give(Stack *s) { free_.push_back(s); }
  // abandon takes every stack back after an error left some in the middle.
  void abandon();
  // overflowed says whether a stack was used to its end.
  static bool overflowed(const Stack *s);
  ~Stacks();

private:
  std::vector<Stack *> all_, free_;
  std::vector<char *> slabs_;
  void grow();
};

#ifdef __AVX512F__
#define EMU_MORE_REGISTERS                                                                                                              \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", \
      "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define EMU_MORE_REGISTERS
#endif

#if !defined(EMU_UCONTEXT) && !EMU_ASAN
// jump suspends from and goes on in to. final: from will not be resumed.
//
// The compiler saves what the asm statement lists as clobbered, if it is in use;
// only rbp may not be listed. The 128 bytes below the stack pointer may be in use.
__attribute__((always_inline)) inline void jump(Context *from, Context *to, bool /*final*/) {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rdx\n\t"
      "pushq %%rdx\n\t"
      "movq %%rsp, (%0)\n\t"
      "movq (%1), %%rsp\n\t"
      "popq %%rdx\n\t"
      "jmp *%%rdx\n" // not ret: the processor predicts those by calls
      "1:\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+a"(from), "+c"(to)
      :
      : "rdx", "rbx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
        "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15" EMU_MORE_REGISTERS);
}
// arrived must be called first on a new stack; native is where it came from.
inline void arrived(Context * /*native*/) {}
#else
void jump(Context *from, Context *to, bool final);
void arrived(Context *native);
#endif

} // namespace emu
