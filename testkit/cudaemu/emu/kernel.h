// kernel.h: the registry of kernels and how one is launched.
#pragma once

#include "thread.h"

#include <string>
#include <type_traits>
#include <utility>

namespace emu {

using Call = void (*)(void *function, void **args);

// Kernel is an entry with the sizes of its parameters.
struct Kernel {
  const char *name;
  void *function;
  Call call;
  int parameters;
  const int *sizes;     // bytes of each parameter
  mutable const Kernel *next; // of all registered kernels

  template <class... A>
  Kernel(const char *name, void (*f)(A...))
      : name(name), function((void *)f), call(&call_with<A...>), parameters(sizeof...(A)), sizes(sizes_of<A...>()) {
    add();
  }
  void add() const;

  template <class... A> static const int *sizes_of() {
    static const int sizes[] = {(int)sizeof(A)..., 0};
    return sizes;
  }
  template <class... A> static void call_with(void *f, void **args) {
    expand<A...>((void (*)(A...))f, args, std::index_sequence_for<A...>{});
  }
  template <class... A, size_t... I> static void expand(void (*f)(A...), void **args, std::index_sequence<I...>) {
    f(*(std::remove_reference_t<A> *)args[I]...);
    (void)args;
  }
};

// Bound is a kernel's number of threads, if it has a fixed one.
struct Bound {
  const char *name;
  unsigned threads;
  const Bound *next;
  Bound(const char *name, unsigned threads);
};
unsigned threads_of(const char *name); // 0: any

// find returns the kernel of that name, or null.
const Kernel *find(const char *name);
const Kernel *first(); // of the list

// Launch is one launch: args has a pointer for each parameter.
struct Launch {
  const Kernel *kernel;
  Dim grid, block;
  size_t dynamic_bytes;
  void **args;
  uint64_t seed;  // of the order of blocks, warps and lanes
  bool early;     // asynchronous copies and products complete at once, instead of as late as allowed
  bool overlaps;  // it may begin before the launch ahead of it has ended, so its threads have to wait for that
};

// run executes a launch and returns an error's text, empty if there is none.
// Calls from several OS threads at once are allowed.
std::string run(const Launch &launch);

// set_workers sets how many OS threads share the blocks of a launch; with 1 the
// order of blocks follows from the seed too. 0 means one per processor.
void set_workers(int threads);

// Late completion finds missing waits, early completion buffers that are filled
// while they are still read. Tests that vary seeds take this one of the two: seeds
// s with s % 4 == 3 are early.
inline bool early_by_seed(uint64_t seed) { return seed % 4 == 3; }

} // namespace emu
