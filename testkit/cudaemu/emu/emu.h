// emu.h: CUDA C kernels as C++, for machines without a GPU.
//
// A kernel's source is compiled by g++ with -DTROUPE_EMULATION and includes
// this file. Each CUDA thread is a fiber; blocks are spread over OS threads.
// What a GPU leaves open is used against the kernel: warps, and lanes inside a
// warp, run in a random order that follows from a seed; asynchronous copies
// complete as late as allowed; shared memory starts as NaN.
//
// This file has the words of the language. The ideas are in
//   thread.h   threads, warps, blocks and how they wait
//   memory.h   static and dynamic shared memory, addresses in the shared window
//   barrier.h  __syncthreads, named barriers, fences
//   warp.h     __syncwarp, shuffles, votes
//   atomics.h  integer atomics
//   arith.h    correctly rounded arithmetic, conversions, bits
//   copy.h     cp.async
//   matrix.h   ldmatrix, mma
//   mbarrier.h mbarrier
//   tma.h      bulk and tensor copies
//   wgmma.h    warpgroup products
//   race.h     accesses that nothing orders, in a build of its own
//   kernel.h   the registry of kernels
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <math.h>

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#ifndef __restrict__
#define __restrict__ __restrict
#endif

// DEVICE marks a function of the device; KERNEL(name)(params) { ... } defines
// an entry, REGISTER(name); after it lets the fake driver find it. A kernel with
// KERNEL_THREADS(n, name) refuses launches with another number of threads.
#define DEVICE static inline __attribute__((unused))
#define KERNEL(name) extern "C" void name
#define KERNEL_THREADS(threads, name)                            \
  static const ::emu::Bound emu_bound_##name(#name, threads);    \
  extern "C" void name
#define REGISTER(name) static const ::emu::Kernel emu_kernel_##name(#name, &name)

// The built-in variables. A kernel that is not running must not read them.
#define threadIdx (::emu::self->index)
#define blockIdx (::emu::block->index)
#define blockDim (::emu::block->dim)
#define gridDim (::emu::block->grid)
#define warpSize 32

#include "thread.h"
#include "memory.h"
#include "kernel.h"
#include "barrier.h"
#include "warp.h"
#include "atomics.h"
#include "arith.h"
#include "copy.h"
#include "matrix.h"
#include "mbarrier.h"
#include "tma.h"
#include "wgmma.h"
