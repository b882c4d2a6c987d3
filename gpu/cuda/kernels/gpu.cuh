// Declarations for clang as a CUDA compiler without NVIDIA's headers: attributes, built-in variables, and the
// instructions that C++ cannot spell. Semantics: PTX ISA 8.0, the section named beside each group.
#pragma once

typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINTPTR_TYPE__ uintptr_t;

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

#define DEVICE static __device__ inline __attribute__((always_inline))
#define KERNEL(name) extern "C" __global__ void name
#define KERNEL_THREADS(threads, name) extern "C" __global__ void __attribute__((launch_bounds(threads))) name
#define KERNEL_BLOCKS(threads, blocks, name) extern "C" __global__ void __attribute__((launch_bounds(threads, blocks))) name
#define REGISTER(name) static_assert(true, "")
#define SHARED(type, name, size) __shared__ type name size
#define DYNAMIC_SHARED(name)                                              \
  extern __shared__ __attribute__((aligned(128))) unsigned char dynamic_shared[]; \
  unsigned char *name = dynamic_shared
#define TROUPE_PRAGMA(text) _Pragma(#text)
#define UNROLL _Pragma("unroll")
#define UNROLL_BY(n) TROUPE_PRAGMA(unroll n)

DEVICE int here(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

// Built-in variables (10, Special registers).
struct ThreadIndex {
  __declspec(property(get = get_x)) unsigned x;
  static __device__ inline unsigned get_x() { return __nvvm_read_ptx_sreg_tid_x(); }
};
struct BlockIndex {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  static __device__ inline unsigned get_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
  static __device__ inline unsigned get_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
  static __device__ inline unsigned get_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
};
struct BlockSize {
  __declspec(property(get = get_x)) unsigned x;
  static __device__ inline unsigned get_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
};
struct GridSize {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  static __device__ inline unsigned get_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
  static __device__ inline unsigned get_y() { return __nvvm_read_ptx_sreg_nctaid_y(); }
  static __device__ inline unsigned get_z() { return __nvvm_read_ptx_sreg_nctaid_z(); }
};
static const __device__ ThreadIndex threadIdx;
static const __device__ BlockIndex blockIdx;
static const __device__ BlockSize blockDim;
static const __device__ GridSize gridDim;

// Barriers and fences (9.7.12). __syncthreads is a builtin of clang.
DEVICE void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
DEVICE int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
DEVICE int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
DEVICE int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
DEVICE void bar_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
DEVICE void bar_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
DEVICE void __threadfence() { __nvvm_membar_gl(); }

// The kernel ahead in the stream (9.7.12.14, griddepcontrol; sm_90): the next one may begin, and this one waits until
// all that the one before it has written can be read.
DEVICE void wait_for_previous() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Shuffles and votes (9.7.8.6, 9.7.12.7): 8 bytes go as two halves.
template <class T, class F>
DEVICE T shuffle(T value, F move) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, move(__builtin_bit_cast(int, value)));
  } else {
    static_assert(sizeof(T) == 8, "shuffles move 4 or 8 bytes");
    uint64_t bits = __builtin_bit_cast(uint64_t, value);
    uint32_t low = move(int(bits)), high = move(int(bits >> 32));
    return __builtin_bit_cast(T, uint64_t(high) << 32 | low);
  }
}
template <class T>
DEVICE T __shfl_sync(unsigned mask, T value, int lane) {
  return shuffle(value, [=](int v) { return __nvvm_shfl_sync_idx_i32(mask, v, lane, 0x1f); });
}
template <class T>
DEVICE T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return shuffle(value, [=](int v) { return __nvvm_shfl_sync_bfly_i32(mask, v, lanes, 0x1f); });
}
template <class T>
DEVICE T __shfl_down_sync(unsigned mask, T value, unsigned lanes) {
  return shuffle(value, [=](int v) { return __nvvm_shfl_sync_down_i32(mask, v, lanes, 0x1f); });
}
template <class T>
DEVICE T __shfl_up_sync(unsigned mask, T value, unsigned lanes) {
  return shuffle(value, [=](int v) { return __nvvm_shfl_sync_up_i32(mask, v, lanes, 0); });
}
DEVICE unsigned __ballot_sync(unsigned mask, int predicate) { return __nvvm_vote_ballot_sync(mask, predicate != 0); }
DEVICE int __any_sync(unsigned mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate != 0); }
DEVICE int __all_sync(unsigned mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate != 0); }

// Atomics (9.7.12.4), relaxed.
#define TROUPE_ATOMIC(name, op)                                                                            \
  DEVICE int32_t name(int32_t *p, int32_t v) { return __nvvm_atom_##op##_gen_i(p, v); }                    \
  DEVICE int64_t name(int64_t *p, int64_t v) { return __nvvm_atom_##op##_gen_l(p, v); }
#define TROUPE_ATOMIC_SIGNLESS(name, op)                                                                             \
  DEVICE uint32_t name(uint32_t *p, uint32_t v) { return uint32_t(__nvvm_atom_##op##_gen_i((int32_t *)p, int32_t(v))); } \
  DEVICE uint64_t name(uint64_t *p, uint64_t v) { return uint64_t(__nvvm_atom_##op##_gen_l((int64_t *)p, int64_t(v))); }
#define TROUPE_ATOMIC_UNSIGNED(name, op)                                                     \
  DEVICE uint32_t name(uint32_t *p, uint32_t v) { return __nvvm_atom_##op##_gen_ui(p, v); }  \
  DEVICE uint64_t name(uint64_t *p, uint64_t v) { return __nvvm_atom_##op##_gen_ul(p, v); }
TROUPE_ATOMIC(atomicAdd, add)
TROUPE_ATOMIC_SIGNLESS(atomicAdd, add)
TROUPE_ATOMIC(atomicOr, or)
TROUPE_ATOMIC_SIGNLESS(atomicOr, or)
TROUPE_ATOMIC(atomicExch, xchg)
TROUPE_ATOMIC_SIGNLESS(atomicExch, xchg)
TROUPE_ATOMIC(atomicMax, max)
TROUPE_ATOMIC_UNSIGNED(atomicMax, max)
TROUPE_ATOMIC(atomicMin, min)
TROUPE_ATOMIC_UNSIGNED(atomicMin, min)
DEVICE int32_t atomicCAS(int32_t *p, int32_t from, int32_t to) { return __nvvm_atom_cas_gen_i(p, from, to); }
DEVICE int64_t atomicCAS(int64_t *p, int64_t from, int64_t to) { return __nvvm_atom_cas_gen_l(p, from, to); }
DEVICE uint32_t atomicCAS(uint32_t *p, uint32_t from, uint32_t to) { return atomicCAS((int32_t *)p, from, to); }
DEVICE uint64_t atomicCAS(uint64_t *p, uint64_t from, uint64_t to) { return atomicCAS((int64_t *)p, from, to); }
#undef TROUPE_ATOMIC
#undef TROUPE_ATOMIC_SIGNLESS
#undef TROUPE_ATOMIC_UNSIGNED

// shared_address is what instructions on shared memory take.
DEVICE uint32_t shared_address(const void *p) {
  return uint32_t(uintptr_t((__attribute__((address_space(3))) const void *)p));
}

// Asynchronous copies (9.7.8.22).
DEVICE void cp_async16(void *to, const void *from, bool use) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(use ? 16 : 0) : "memory");
}
DEVICE void cp_async8(void *to, const void *from, bool use) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(to)), "l"(from), "r"(use ? 8 : 0) : "memory");
}
DEVICE void cp_async4(void *to, const void *from, bool use) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(use ? 4 : 0) : "memory");
}
DEVICE void cp_async16_cached(void *to, const void *from, bool use) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(use ? 16 : 0) : "memory");
}
DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// Matrices of 8 x 8 elements of 16 bits (9.7.13.4.15).
DEVICE void ldmatrix_x4(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
DEVICE void ldmatrix_x4_trans(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// Products of matrices (9.7.13.4.8): fragments as the figures there show.
DEVICE void mma_bf16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEVICE void mma_f16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Barriers in shared memory that count arrivals and bytes (9.7.12.15); sm_90.
DEVICE void mbarrier_init(uint64_t *b, unsigned arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
}
DEVICE void mbarrier_fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void mbarrier_arrive(uint64_t *b) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(shared_address(b)) : "memory");
}
DEVICE void mbarrier_expect_tx(uint64_t *b, unsigned bytes) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(shared_address(b)), "r"(bytes) : "memory");
}
DEVICE void mbarrier_wait(uint64_t *b, unsigned parity) {
  asm volatile(
      "{\n .reg .pred over;\nagain:\n mbarrier.try_wait.parity.shared.b64 over, [%0], %1;\n @over bra done;\n bra again;\ndone:\n}" ::"r"(
          shared_address(b)),
      "r"(parity)
      : "memory");
}

// A tile through the tensor memory accelerator (9.7.8.24.7); sm_90. The map lies in global memory, 64-byte aligned,
// since clang 19 passes no structure in the parameters' own memory.
struct alignas(64) TensorMap {
  unsigned char opaque[128];
};
DEVICE void tma_load_2d(void *to, const TensorMap *map, uint64_t *b, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                   shared_address(to)),
               "l"(map), "r"(shared_address(b)), "r"(x), "r"(y)
               : "memory");
}

// Products of a warpgroup (9.7.14); sm_90a. Operands are matrices in shared memory, described by the address, the bytes
// between groups of 8 rows or columns, and the swizzle.
DEVICE uint64_t wgmma_matrix(const void *shared, unsigned leading, unsigned stride, unsigned swizzle) {
  uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return uint64_t(shared_address(shared) & 0x3ffff) >> 4 | uint64_t(leading >> 4 & 0x3fff) << 16 | uint64_t(stride >> 4 & 0x3fff) << 32 | mode << 62;
}
DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// d += a b, or d = a b: 64 x 2R for R registers, d[4j + c] as in mma for columns from 8j on.
#define TROUPE_D8(i)                                                                                                        \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define TROUPE_D32(i) TROUPE_D8(i), TROUPE_D8(i + 8), TROUPE_D8(i + 16), TROUPE_D8(i + 24)
#define TROUPE_R32                                                                                                  \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define TROUPE_R64                                                                                                        \
  TROUPE_R32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
  "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TROUPE_R128                                                                                                          \
  TROUPE_R64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, "    \
  "%85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, "     \
  "%107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "        \
  "%126, %127"
#define TROUPE_WGMMA(type, registers, columns, list, a_at, b_at, scale_at, ...)                                                      \
  DEVICE void wgmma_##type(float (&d)[registers], uint64_t a, uint64_t b, bool accumulate = true) {                                 \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" scale_at ", 0; wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." #type "." \
                 #type " {" list "}, %" a_at ", %" b_at ", p, 1, 1, 0, 0; }"                                                        \
                 : __VA_ARGS__                                                                                                      \
                 : "l"(a), "l"(b), "r"(int(accumulate)));                                                                           \
  }
TROUPE_WGMMA(bf16, 32, "64", TROUPE_R32, "32", "33", "34", TROUPE_D32(0))
TROUPE_WGMMA(f16, 32, "64", TROUPE_R32, "32", "33", "34", TROUPE_D32(0))
TROUPE_WGMMA(bf16, 64, "128", TROUPE_R64, "64", "65", "66", TROUPE_D32(0), TROUPE_D32(32))
TROUPE_WGMMA(f16, 64, "128", TROUPE_R64, "64", "65", "66", TROUPE_D32(0), TROUPE_D32(32))
TROUPE_WGMMA(bf16, 128, "256", TROUPE_R128, "128", "129", "130", TROUPE_D32(0), TROUPE_D32(32), TROUPE_D32(64), TROUPE_D32(96))
TROUPE_WGMMA(f16, 128, "256", TROUPE_R128, "128", "129", "130", TROUPE_D32(0), TROUPE_D32(32), TROUPE_D32(64), TROUPE_D32(96))
#undef TROUPE_D8
#undef TROUPE_D32
#undef TROUPE_R32
#undef TROUPE_R64
#undef TROUPE_R128
#undef TROUPE_WGMMA

// Registers go from warpgroups that need few to those that need many (9.7.17.5); sm_90a.
template <int N>
DEVICE void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N>
DEVICE void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

DEVICE void nanosleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }

// a - b of pairs of bfloat16 (9.7.4), as a - 1 x b: what sm_80 has.
DEVICE uint32_t sub_bf16x2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(b), "r"(0xbf80bf80), "r"(a));
  return d;
}

// Integers (9.7.1).
DEVICE uint32_t and_or(uint32_t x, uint32_t mask, uint32_t bits) { // of two constants ptxas makes two instructions
  uint32_t d;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(d) : "r"(x), "r"(mask), "r"(bits));
  return d;
}
DEVICE uint32_t byte_perm(uint32_t a, uint32_t b, uint32_t selector) { return __nvvm_prmt(a, b, selector); }
