// How a block works on the candidates of one entry: passes over all of them, and selection by sums.
//
// A list is split into one part per warp, in order of ids; the lanes of a warp stride through its part. Nothing depends
// on how a list is split: sums are exact (sampling_sum.cuh) and the order inside a list is always that of ids.
#pragma once
#include "sampling_sum.cuh"

namespace sampling {

constexpr int THREADS = 512; // of a block, at most; at least 64, a multiple of 32
constexpr int WARPS = THREADS / 32;

// Workspace is a block's shared memory.
struct Workspace {
  uint32_t bin[3][THREADS]; // sums by class of candidates, in words
  Sum sum[WARPS];                  // by warp
  float peak[THREADS];      // the highest element that a thread has seen
  uint64_t best[WARPS];            // by warp
  uint32_t low[WARPS];
  int32_t count[WARPS];
};

DEVICE int smaller(int a, int b) { return a < b ? a : b; }
DEVICE uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
DEVICE int lane() { return int(threadIdx.x % 32); }
DEVICE int warp() { return int(threadIdx.x / 32); }

// key_of orders numbers as unsigned integers do. -0 and 0 have one key; NaN has 0, the lowest.
DEVICE uint32_t key_of(float x) {
  if (x != x) return 0;
  uint32_t b = bits_of(fadd(x, 0.0f));
  return int32_t(b) < 0 ? ~b : b | 0x80000000;
}
DEVICE float value_of(uint32_t key) { return float_of(int32_t(key) < 0 ? key ^ 0x80000000 : ~key); }

// List is candidates in order of ids.
struct List {
  const float *x;    // logits, by element
  const int32_t *id; // by element; null: element i is token i
  int at, n;         // the part of the warp whose number is this lane: elements [at, at + n)
};

// split makes a list of elements [from, from + n).
DEVICE List split(const float *x, const int32_t *id, int from, int n) {
  int warps = int(blockDim.x / 32), part = ((n + warps - 1) / warps + 31) / 32 * 32;
  int skip = smaller(lane() * part, n);
  return List{x, id, from + skip, smaller(part, n - skip)};
}

// each calls f(x, id) for the elements of the warp's part, ascending within a thread; it may leave out those below least.
// It loads BATCH elements while f works on those before. Whole batches have no branches, so that the compiler can
// interleave the calls.
template <int BATCH, class F>
DEVICE void each(const List &l, float least, F f) {
  int n = __shfl_sync(ALL_LANES, l.n, warp()), at = __shfl_sync(ALL_LANES, l.at, warp()), from = lane();
  float x[BATCH], next[BATCH];
  auto load = [&](int from) {
    UNROLL for (int j = 0; j < BATCH; j++) next[j] = from + 32 * j < n ? l.x[at + from + 32 * j] : 0.0f;
  };
  auto id_of = [&](int i) { return l.id ? l.id[at + i] : at + i; };
  load(from);
  UNROLL_BY(1) for (; from + 32 * (BATCH - 1) < n; from += 32 * BATCH) {
    UNROLL for (int j = 0; j < BATCH; j++) x[j] = next[j];
    load(from + 32 * BATCH);
    bool any = false;
    UNROLL for (int j = 0; j < BATCH; j++) any |= !(x[j] < least);
    if (!any) continue;
    UNROLL for (int j = 0; j < BATCH; j++) f(x[j], id_of(from + 32 * j));
  }
  UNROLL_BY(1) for (; from < n; from += 32) f(l.x[at + from], id_of(from));
}

// exchange gives lane w of every warp what all lanes of warp w add up to.
DEVICE Sum exchange(Workspace &ws, Sum s) {
  s = total(s);
  __syncthreads(); // the last exchange has been read
  if (lane() == 0) ws.sum[warp()] = s;
  __syncthreads();
  return lane() < int(blockDim.x / 32) ? ws.sum[lane()] : sum_of(0);
}

// sums gives lane w the sum of a measure, uint64_t of (x, id), over the part of warp w. The measure is 0 below least.
template <class M>
DEVICE Sum sums(Workspace &ws, const List &l, float least, M measure) {
  Adder a{0, 0};
  each<4>(l, least, [&](float x, int32_t id) { add(a, measure(x, id)); });
  return exchange(ws, sum_of(a));
}

// find returns the id of the first element at which the running sum of a measure reaches a goal, which must be at least
// 1 unit and at most the sum of all. parts are the sums of the measure by warp. The part in which it happens is split
// again until one warp can do the rest; every warp does it, so that all threads know the result.
template <class M>
DEVICE int32_t find(Workspace &ws, List l, Sum parts, Sum goal, M measure) {
  for (;;) {
    int part = crossing(parts, goal);
    int at = __shfl_sync(ALL_LANES, l.at, part), n = __shfl_sync(ALL_LANES, l.n, part);
    if (n <= 32) {
      int i = at + lane();
      int32_t id = lane() >= n ? 0 : l.id ? l.id[i] : i;
      Sum s = sum_of(lane() < n ? measure(l.x[i], id) : 0);
      return __shfl_sync(ALL_LANES, id, crossing(s, goal));
    }
    l = split(l.x, l.id, at, n);
    parts = sums(ws, l, -INFINITE, measure);
  }
}

// compact keeps the elements for which keep(key, id) holds, none of them below least, in arrays with space for the
// vocabulary. They may be those of the list, since nothing moves up. Each warp keeps to its part.
template <class K>
DEVICE List compact(Workspace &ws, const List &l, float *x, int32_t *id, float least, K keep) {
  constexpr int BATCH = 8;
  int n = __shfl_sync(ALL_LANES, l.n, warp()), at = __shfl_sync(ALL_LANES, l.at, warp()), kept = 0;
  __syncthreads(); // find has read the parts of other warps, and all have read the last counts
  UNROLL_BY(1) for (int from = lane(); from - lane() < n; from += 32 * BATCH) {
    float v[BATCH];
    bool any = false;
    UNROLL for (int j = 0; j < BATCH; j++) v[j] = from + 32 * j < n ? l.x[at + from + 32 * j] : -INFINITE;
    UNROLL for (int j = 0; j < BATCH; j++) any |= !(v[j] < least);
    if (!__any_sync(ALL_LANES, any)) continue;
    int32_t t[BATCH];
    UNROLL for (int j = 0; j < BATCH; j++) {
      int i = from + 32 * j;
      t[j] = i >= n ? -1 : l.id ? l.id[at + i] : at + i;
    }
    __syncwarp(); // all lanes have read what is overwritten now
    UNROLL for (int j = 0; j < BATCH; j++) {
      bool stays = t[j] >= 0 && keep(key_of(v[j]), t[j]);
      uint32_t lanes = __ballot_sync(ALL_LANES, stays);
      if (stays) {
        int to = at + kept + __builtin_popcount(lanes & ((1u << lane()) - 1));
        x[to] = v[j];
        id[to] = t[j];
      }
      kept += __builtin_popcount(lanes);
    }
  }
  if (lane() == 0) ws.count[warp()] = kept;
  __syncthreads();
  return List{x, id, l.at, lane() < int(blockDim.x / 32) ? ws.count[lane()] : 0};
}

// count adds to the sum of a class. Words are added one by one; a carry goes to the next.
DEVICE void count(Workspace &ws, uint32_t bin, uint64_t units) {
  uint32_t low = uint32_t(units), high = uint32_t(units >> 32); // at most 2^31
  if (low) high += uint32_t(atomicAdd(&ws.bin[0][bin], low) + low) < low;
  if (high && uint32_t(atomicAdd(&ws.bin[1][bin], high) + high) < high) atomicAdd(&ws.bin[2][bin], 1u);
}

// border returns the key in [low, high] at which the sum of a measure, uint64_t of x, over elements from high down
// reaches a goal, which all of them must do. The goal becomes what the elements with that key must add up to.
// Each round counts by classes of keys, one per thread, and goes on in one class; four rounds do for 32 bits.
template <class M>
DEVICE uint32_t border(Workspace &ws, const List &l, uint32_t low, uint32_t high, Sum &goal, M measure) {
  int class_bits = 31 - __builtin_clz(blockDim.x);
  while (low < high) {
    int bits = 32 - __builtin_clz(high - low), shift = bits > class_bits ? bits - class_bits : 0;
    __syncthreads(); // the classes of the last round have been read
    UNROLL for (int word = 0; word < 3; word++) ws.bin[word][threadIdx.x] = 0;
    __syncthreads();
    each<2>(l, value_of(low), [&](float x, int32_t) {
      uint32_t key = key_of(x);
      if (key >= low && key <= high) count(ws, (high - key) >> shift, measure(x));
    });
    __syncthreads();
    auto sum_of_bin = [&](int i) { return Sum{ws.bin[0][i] | uint64_t(ws.bin[1][i]) << 32, ws.bin[2][i]}; };
    uint32_t bin = 32 * uint32_t(crossing(exchange(ws, sum_of_bin(int(threadIdx.x))), goal));
    bin += uint32_t(crossing(sum_of_bin(int(bin) + lane()), goal));
    high -= bin << shift;
    if ((high - low) >> shift) low = high - ((1u << shift) - 1);
  }
  return high;
}

// Extremes are of all elements of a list.
struct Extremes {
  uint32_t high, low; // keys; low is 0 if there is a NaN
  int32_t first;      // the lowest id with the highest key
};

// extremes also leaves each thread's highest element in peak, NaN if it has none or has seen a NaN.
DEVICE Extremes extremes(Workspace &ws, const List &l) {
  float highest = -INFINITE, lowest = INFINITE;
  int32_t first = -1;
  bool nan = false;
  each<8>(l, -INFINITE, [&](float x, int32_t id) {
    nan |= x != x;
    lowest = x < lowest ? x : lowest;
    first = x > highest || first < 0 ? id : first;
    highest = x > highest ? x : highest;
  });
  uint32_t low = nan ? 0 : key_of(lowest), high = first < 0 ? 0 : key_of(highest);
  ws.peak[threadIdx.x] = value_of(nan ? 0 : high);
  uint64_t best = uint64_t(high) << 32 | uint32_t(~first);
  auto reduce = [&] {
    UNROLL_BY(1) for (int lanes = 16; lanes > 0; lanes /= 2) {
      uint64_t b = __shfl_xor_sync(ALL_LANES, best, lanes);
      uint32_t k = __shfl_xor_sync(ALL_LANES, low, lanes);
      best = b > best ? b : best;
      low = k < low ? k : low;
    }
  };
  reduce();
  if (lane() == 0) ws.best[warp()] = best, ws.low[warp()] = low;
  __syncthreads();
  bool used = lane() < int(blockDim.x / 32);
  best = used ? ws.best[lane()] : 0;
  low = used ? ws.low[lane()] : 0xffffffff;
  reduce();
  return Extremes{uint32_t(best >> 32), low, int32_t(~uint32_t(best))};
}

// leading reduces a list to the shortest run of first candidates, of which the highest come first and ties by id, whose
// measure reaches a goal of at least 1. All of them have keys in [low, high]. If shorten, others are dropped first.
template <class M>
DEVICE List leading(Workspace &ws, List l, uint32_t low, uint32_t high, bool shorten, Sum goal, float *x, int32_t *id, M measure) {
  uint32_t key = low - 1; // of the last candidate, when it is known
  int32_t last = -1;
  UNROLL_BY(1) for (int round = shorten ? 0 : 1; round < 2; round++) {
    if (round == 1) {
      key = border(ws, l, low, high, goal, measure);
      uint64_t each_tied = measure(value_of(key));
      auto tied = [=](float v, int32_t) -> uint64_t { return key_of(v) == key ? each_tied : 0; };
      last = find(ws, l, sums(ws, l, value_of(key), tied), goal, tied);
    }
    l = compact(ws, l, x, id, value_of(round == 0 ? low : key), [=](uint32_t k, int32_t i) { return k > key || (k == key && i <= last); });
  }
  return l;
}

// peak_border is a key that the first k candidates of a list of all tokens have at least, after extremes. It is near the
// last one's if k is small: the k-th highest of the threads' peaks is reached by k candidates or more.
DEVICE uint32_t peak_border(Workspace &ws, const Extremes &e, int k) {
  if (k > int(blockDim.x)) return e.low;
  Sum goal = sum_of(uint64_t(k));
  return larger(e.low, border(ws, split(ws.peak, nullptr, 0, int(blockDim.x)), 0, e.high, goal, [](float) -> uint64_t { return 1; }));
}

} // namespace sampling
