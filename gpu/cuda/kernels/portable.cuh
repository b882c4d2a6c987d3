// One source, two compilers. A kernel file includes this first.
//
//   clang 19 as CUDA, for the GPU   gpu.cuh: own declarations in place of NVIDIA's headers
//   g++ with -DTROUPE_EMULATION     emu.h of testkit/cudaemu/emu: threads, barriers, instructions on the CPU
//
// Both supply the same names. A kernel uses these and plain C++, nothing else:
//
//   KERNEL(name)(params) {...}      a kernel; the line REGISTER(name); follows it
//   KERNEL_THREADS(n, name)(...)    the same, started with exactly n threads a block
//   KERNEL_BLOCKS(n, m, name)(...)  and with registers for m blocks on a multiprocessor
//   DEVICE                          a function of kernels; INLINE is for lambdas, after the parameters
//   UNROLL, UNROLL_BY(n)            before a loop: unroll it wholly, or n times
//   SHARED(type, name, [N])         static shared memory, undefined at the start of a block
//   DYNAMIC_SHARED(name)            unsigned char *name, aligned to 128 bytes
//   here(x)                         x; the compiler may not compute what follows from it earlier and hold it in registers
//   threadIdx.x, blockDim.x, and x, y, z of blockIdx and gridDim
//
//   wait_for_previous(): a kernel may begin while the one ahead of it ends; nothing that others write is read or
//     written before this. Each thread calls it
//   __syncthreads(), __syncwarp(), __threadfence(), bar_sync(id, threads), bar_arrive(id, threads)
//   __shfl_sync, __shfl_xor_sync, __shfl_down_sync, __shfl_up_sync (mask, value of 4 or 8 bytes, lane)
//   __ballot_sync, __any_sync, __all_sync (mask, predicate), __syncthreads_count, _or, _and (predicate)
//   atomicAdd, atomicMax, atomicMin, atomicOr, atomicExch (pointer, value), atomicCAS (pointer, old, new):
//     on 32-bit and 64-bit integers, shared or global; they return the old value
//
//   cp_async16(shared, global, use) copies 16 bytes, both ends aligned; zeros if not use
//   cp_async8, cp_async4 the same for fewer bytes
//   cp_async16_cached(...) is the same through the L1 cache: for what other threads or later copies read again
//   cp_async_commit(), cp_async_wait<N>() until at most N groups of this thread are under way
//   ldmatrix_x4(r, row), ldmatrix_x4_trans(r, row): uint32_t r[4], row is this lane's 16 bytes of shared memory
//   mma_bf16(d, a, b0, b1), mma_f16: d += A B, float d[4], uint32_t a[4]; m16n8k16, accumulator float32
//   mbarrier_init(b, arrivals), mbarrier_fence_init(), mbarrier_arrive(b), mbarrier_expect_tx(b, bytes) which also
//     arrives, mbarrier_wait(b, parity) until the phase of that parity is over; uint64_t *b in shared memory
//   tma_load_2d(shared, map, b, x, y): a tile of a TensorMap; its bytes count at mbarrier b
//   wgmma_matrix(shared, leading, stride, swizzle) describes an operand; wgmma_bf16(d, a, b, accumulate), wgmma_f16:
//     float d[32], d[64] or d[128]; wgmma_fence() before products, wgmma_commit(), wgmma_wait<N>()
//   byte_perm(a, b, selector): bytes of a (0 to 3) and b (4 to 7), by the selector's four lowest digits of 4 bits
//   and_or(x, mask, bits): (x & mask) | bits
//   sub_bf16x2(a, b): a - b of pairs of bfloat16, rounded once
//   setmaxnreg_dec<N>(), setmaxnreg_inc<N>(): registers of the threads of a warpgroup; sm_90a
//   nanosleep(ns)
#pragma once

#ifdef TROUPE_EMULATION
#include <stdint.h>
#include "emu.h"
#define KERNEL_BLOCKS(threads, blocks, name) KERNEL_THREADS(threads, name)
#define UNROLL
#define UNROLL_BY(n)
DEVICE int here(int x) { return x; }
#else
#include "gpu.cuh"
#endif

#define INLINE __attribute__((always_inline))

constexpr unsigned ALL_LANES = 0xffffffffu;
