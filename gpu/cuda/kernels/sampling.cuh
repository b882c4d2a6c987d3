// What sampling computes for one token: adjusted logits, weights, random numbers. gpu/ref/sample.go defines them.
#pragma once
#include "exp64.cuh"
#include "sampling_list.cuh"
#include "step.cuh"

namespace sampling {

DEVICE bool is_allowed(const uint32_t *allowed, int32_t id) { return !allowed || (allowed[id / 32] >> (id % 32) & 1); }

DEVICE float penalized(float x, const TokenCount &h, const SampleSpec &spec) {
  if (h.in_prompt || h.output > 0) x = x > 0.0f ? fdiv(x, spec.repetition) : fmul(x, spec.repetition);
  x = fsub(x, fmul(spec.frequency, float(h.output)));
  return h.output > 0 ? fsub(x, spec.presence) : x;
}

// adjusted returns the logits after bias, penalties and masks: a copy in x, or the logits themselves if nothing changes.
// A token that is not allowed stays at minus infinity, whatever else is said of it. All threads of the block take part.
DEVICE const float *adjusted(const Step *step, const SampleSpec &spec, const float *logits, float *x) {
  if (spec.bias_n == 0 && spec.history_n == 0 && spec.masked_n == 0 && spec.allowed_at < 0) return logits;
  const uint32_t *allowed = spec.allowed_at < 0 ? nullptr : step->allowed + spec.allowed_at;
  int threads = int(blockDim.x), thread = int(threadIdx.x), vocab = step->vocab;
  constexpr int BATCH = 8;
  for (int from = thread; from < vocab; from += threads * BATCH) {
    float v[BATCH];
    UNROLL for (int j = 0; j < BATCH; j++) v[j] = from + threads * j < vocab ? logits[from + threads * j] : 0.0f;
    UNROLL for (int j = 0; j < BATCH; j++) {
      int id = from + threads * j;
      if (id < vocab) x[id] = is_allowed(allowed, id) ? v[j] : -INFINITE;
    }
  }
  __syncthreads();
  for (int i = thread; i < spec.bias_n; i += threads) {
    TokenBias b = step->bias[spec.bias_at + i];
    if (is_allowed(allowed, b.token)) x[b.token] = fadd(x[b.token], b.bias);
  }
  __syncthreads();
  for (int i = thread; i < spec.history_n; i += threads) {
    TokenCount h = step->history[spec.history_at + i];
    if (is_allowed(allowed, h.token)) x[h.token] = penalized(x[h.token], h, spec);
  }
  __syncthreads();
  for (int i = thread; i < spec.masked_n; i += threads) x[step->masked[spec.masked_at + i]] = -INFINITE;
  __syncthreads();
  return x;
}

// Weight is exp((x - highest) / temperature).
struct Weight {
  float highest, least; // what is below least has no whole unit, or is left out
  double temperature, inverse;
};

constexpr double DEPTH = 46.0; // e^-46 is less than a unit

// at_depth is a logit such that all that have a weight of e^-depth or more are at least as high. The margin is more than
// what differences, quotients and exp may be off; between the bound and the nearest float there is no logit.
DEVICE float at_depth(float highest, double temperature, double depth) {
  return float(dsub(double(highest), dmul(dadd(depth, 1e-3), temperature)));
}

DEVICE Weight weight_of(float highest, float temperature) {
  double t = double(temperature);
  return Weight{highest, at_depth(highest, t, DEPTH), t, ddiv(1.0, t)};
}

// weigh is the weight of a logit in units of 2^-63, not yet cut. There are no branches.
DEVICE double weigh(const Weight &w, float x) {
  double d = dsub(double(x), double(w.highest)), q = dmul(d, w.inverse);
  // A correction makes it d / temperature, correctly rounded (Markstein 1990).
  q = dfma(dfma(-q, w.temperature, d), w.inverse, q);
  int k;
  double y = exp_parts(q, k);
  y = q > -DEPTH ? times_power_of_2(y, k + 63) : 0.0;
  return x == w.highest ? 0x1p63 : y; // also where both are infinite
}

// units cuts a weight to whole units.
DEVICE uint64_t units(double weight) { return uint64_t(weight); }

// uniform is gpu.Uniform: Philox4x32-10 (Salmon et al. 2011) keyed by the seed.
DEVICE double uniform(uint64_t seed, uint32_t choice, uint64_t position) {
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  uint32_t c0 = uint32_t(position), c1 = uint32_t(position >> 32), c2 = choice, c3 = 0;
  for (int round = 0; round < 10; round++) {
    uint64_t a = uint64_t(c0) * 0xD2511F53, b = uint64_t(c2) * 0xCD9E8D57;
    c0 = uint32_t(b >> 32) ^ c1 ^ k0;
    c1 = uint32_t(b);
    c2 = uint32_t(a >> 32) ^ c3 ^ k1;
    c3 = uint32_t(a);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return dmul(double((uint64_t(c0) << 32 | c1) >> 11), 0x1p-53);
}

} // namespace sampling
