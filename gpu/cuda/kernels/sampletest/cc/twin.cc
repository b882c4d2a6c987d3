#include "twin.h"

#include <math.h>

#include <algorithm>
#include <numeric>

#include "exp64.cuh"

typedef unsigned __int128 Units;

// before is the order of candidates; NaN comes last.
static std::vector<int> in_order(const std::vector<float> &x) {
  std::vector<int> ids(x.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) { return x[a] > x[b] || (x[a] == x[a] && x[b] != x[b]); });
  return ids;
}

static uint64_t cut(double w) { return uint64_t(floorl((long double)w * 0x1p63L)); }

static Units total(const std::vector<int> &ids, const std::vector<double> &weight) {
  Units sum = 0;
  for (int id : ids) sum += cut(weight[id]);
  return sum;
}

// value is a sum as a double, cut to 53 bits.
static double value(Units sum) {
  int cut = 0;
  while (sum >> 53 != 0) sum >>= 1, cut++;
  return ldexp(double(uint64_t(sum)), cut - 63);
}

// compare returns the sign of sum - x.
static int compare(Units sum, double x) {
  long double scaled = (long double)x * 0x1p63L; // exact
  if (scaled >= 0x1p127L) return -1;
  long double low = floorl(scaled);
  Units whole = Units(ldexpl(low, -32)) << 32; // in two parts, since not every compiler converts to 128 bits well
  whole += Units(uint64_t(low - (long double)whole));
  if (sum != whole) return sum > whole ? 1 : -1;
  return scaled > low ? -1 : 0;
}

static double uniform(uint64_t seed, uint32_t choice, uint64_t position) {
  uint32_t k[2] = {uint32_t(seed), uint32_t(seed >> 32)}, c[4] = {uint32_t(position), uint32_t(position >> 32), choice, 0};
  for (int i = 0; i < 10; i++) {
    uint64_t p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
    uint32_t d[4] = {uint32_t(q >> 32) ^ c[1] ^ k[0], uint32_t(q), uint32_t(p >> 32) ^ c[3] ^ k[1], uint32_t(p)};
    std::copy(d, d + 4, c);
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return ldexp(double((uint64_t(c[0]) << 32 | c[1]) >> 11), -53);
}

static void adjust(const Step &step, const SampleSpec &spec, std::vector<float> &x) {
  for (int i = 0; i < spec.bias_n; i++) {
    TokenBias b = step.bias[spec.bias_at + i];
    x[b.token] += b.bias;
  }
  for (int i = 0; i < spec.history_n; i++) {
    TokenCount h = step.history[spec.history_at + i];
    volatile float v = x[h.token];
    if (h.in_prompt || h.output > 0) v = v > 0 ? v / spec.repetition : v * spec.repetition;
    volatile float frequency = spec.frequency * float(h.output);
    v = v - frequency;
    if (h.output > 0) v = v - spec.presence;
    x[h.token] = v;
  }
  for (int i = 0; i < spec.masked_n; i++) x[step.masked[spec.masked_at + i]] = -INFINITY;
  for (size_t id = 0; id < x.size(); id++)
    if (spec.allowed_at >= 0 && !(step.allowed[spec.allowed_at + id / 32] >> id % 32 & 1)) x[id] = -INFINITY;
}

SampleResult Twin::sample(const SampleSpec &spec) const {
  const float *row = logits + int64_t(spec.output) * step.vocab;
  std::vector<float> x(row, row + step.vocab);
  adjust(step, spec, x);
  for (int id = 0; id < step.vocab; id++)
    if (x[id] != x[id]) return {-1, 2, id, 0};
  std::vector<int> ids = in_order(x);
  float highest = x[ids[0]];
  if (highest == -INFINITY) return {-1, 1, -1, 0};
  if (spec.temperature < 1e-6f) return {ids[0], 0, -1, 0};
  std::vector<double> weight(x.size());
  for (size_t id = 0; id < x.size(); id++)
    weight[id] = x[id] == highest ? 1 : exp_f64((double(x[id]) - double(highest)) / double(spec.temperature));
  if (spec.top_k > 0 && spec.top_k < step.vocab) ids.resize(spec.top_k);
  if (spec.top_p < 1) {
    double goal = double(spec.top_p) * value(total(ids, weight));
    Units sum = 0;
    size_t n = 0;
    while (n == 0 || (n < ids.size() && compare(sum, goal) < 0)) sum += cut(weight[ids[n++]]);
    ids.resize(n);
  }
  ids.erase(std::remove_if(ids.begin(), ids.end(), [&](int id) { return weight[id] < double(spec.min_p); }), ids.end());
  std::sort(ids.begin(), ids.end());
  double goal = uniform(spec.seed, spec.choice, spec.position) * value(total(ids, weight));
  Units sum = 0;
  for (int id : ids)
    if (sum += cut(weight[id]), compare(sum, goal) > 0) return {id, 0, -1, 0};
  return {-2, 0, -1, 0}; // never: u x total is below the total
}

ScoreResult Twin::score(const ScoreSpec &spec, std::vector<TopEntry> &top) const {
  const float *row = logits + int64_t(spec.output) * step.vocab;
  std::vector<float> x(row, row + step.vocab);
  std::vector<int> ids = in_order(x);
  double highest = x[ids[0]];
  bool nan = isinf(highest);
  std::vector<double> weight(x.size(), 0);
  for (size_t id = 0; id < x.size(); id++) {
    nan |= x[id] != x[id];
    if (!nan) weight[id] = exp_f64(double(x[id]) - highest);
  }
  double log_sum = nan ? NAN : log_f64(value(total(ids, weight)));
  auto logprob = [&](int id) { return nan ? NAN : float(double(x[id]) - highest - log_sum); };
  for (int i = 0; i < std::min(spec.top, step.vocab); i++) top.push_back({ids[i], logprob(ids[i])});
  return {logprob(spec.target), spec.target};
}
