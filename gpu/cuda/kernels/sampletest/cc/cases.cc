#include "cases.h"

#include <math.h>

#include <algorithm>

#include "numeric.cuh"

void Case::point() {
  step.outputs = int32_t(logits.size() / step.vocab);
  step.samples = int32_t(sample.size());
  step.scores = int32_t(score.size());
  step.sampled = sampled.data();
  step.sample = sample.data();
  step.score = score.data();
  step.history = history.data();
  step.bias = bias.data();
  step.masked = masked.data();
  step.allowed = allowed.data();
  step.sample_result = sample_result.data();
  step.score_result = score_result.data();
  step.top = top.data();
}

namespace {

struct Random {
  std::mt19937_64 bits;
  int below(int n) { return int(bits() % uint64_t(n)); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> list) { return list.begin()[below(int(list.size()))]; }
  float normal(float deviation) { return std::normal_distribution<float>(0, deviation)(bits); }
  // some returns at most n different ids, in any order.
  std::vector<int> some(int vocab, int n) {
    std::vector<int> ids;
    if (n * 3 > vocab) {
      for (int i = 0; i < vocab; i++) ids.push_back(i);
      std::shuffle(ids.begin(), ids.end(), bits);
      ids.resize(std::min(n, vocab));
      return ids;
    }
    while (int(ids.size()) < n) {
      int id = below(vocab);
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
    return ids;
  }
};

// fill writes a row of logits of a random kind.
void fill(Random &r, float *x, int n) {
  int kind = r.below(20);
  float scale = r.pick({1e-3f, 0.1f, 1.0f, 3.0f, 10.0f});
  for (int i = 0; i < n; i++) {
    switch (kind) {
    default: x[i] = r.normal(scale * 3); break;
    case 0: x[i] = float(r.below(4)); break; // ties
    case 1: x[i] = 1.5f; break;              // nothing but ties
    case 2: x[i] = r.normal(40); break;
    case 3: x[i] = r.normal(0.01f); break;
    case 4: x[i] = r.one_in(50) ? r.normal(1) : -INFINITY; break;
    case 5: x[i] = r.normal(1e30f); break;
    case 6: x[i] = r.one_in(3) ? INFINITY : r.normal(1); break;
    case 7: x[i] = -INFINITY; break;
    case 8: x[i] = r.pick({0.0f, -0.0f, -1e-40f, 1e-45f}); break;
    case 9: x[i] = -0.01f * scale * float(i); break;          // the first is the highest
    case 10: x[i] = 0.01f * scale * float(i); break;          // the last is
    case 11: x[i] = r.one_in(n) ? NAN : r.normal(1); break;   // none, one or a few
    case 12: x[i] = r.one_in(20) ? NAN : r.normal(1); break;
    case 13: x[i] = float_of(uint32_t(r.bits())); if (x[i] != x[i]) x[i] = 0; break; // any number
    case 14: x[i] = float_of(0x41200000 + uint32_t(r.below(5))); break;              // neighbours
    case 15: x[i] = i % 7 == 0 ? 20.0f : r.normal(1); break;
    case 16: // near depths of sums, below and above zero
      x[i] = float_of(bits_of(r.pick({4.0f, 8.0f, 16.0f}) - r.pick({0.0f, 4.0f, 8.0f, 12.0f, 16.0f, 46.0f})) + uint32_t(r.below(3)) - 1);
      if (x[i] != x[i]) x[i] = -1e-40f;
      break;
    }
  }
  if (kind == 7) x[r.below(n)] = r.pick({-INFINITY, 3.0f}); // nothing, or one candidate
}

SampleSpec settings(Random &r, Case &c) {
  int vocab = c.step.vocab;
  SampleSpec s{};
  s.temperature = r.pick({0.0f, 9e-7f, 1e-6f, 1e-3f, 0.01f, 0.3f, 0.7f, 1.0f, 1.0f, 1.0f, 1.3f, 2.0f, 100.0f, 1e30f});
  s.top_p = r.pick({1.0f, 1.0f, 2.0f, 0.0f, 1e-30f, 0.01f, 0.3f, 0.5f, 0.9f, 0.95f, 0.999f, 0.99999994f});
  s.min_p = r.pick({0.0f, 0.0f, 0.0f, 1e-30f, 0.01f, 0.1f, 0.5f, 0.999999f, 1.0f});
  s.top_k = r.pick({0, 0, 0, 1, 2, 5, 40, 64, 65, 1000, vocab - 1, vocab, vocab + 1, 1 << 30});
  s.repetition = r.one_in(20) ? 0.0f : r.pick({1.0f, 1.3f, 0.7f});
  s.frequency = r.pick({0.0f, 0.5f, -1.2f, 0.1f});
  s.presence = r.pick({0.0f, 1.5f, -0.4f});
  s.choice = uint32_t(r.below(3));
  s.seed = r.bits();
  s.position = r.one_in(5) ? r.bits() : uint64_t(r.below(10000));
  s.allowed_at = -1;
  s.score = -1;
  s.history_at = int(c.history.size());
  if (r.one_in(2))
    for (int id : r.some(vocab, r.below(vocab < 100 ? vocab + 1 : 100))) c.history.push_back({id, r.below(4), r.below(2)});
  s.history_n = int(c.history.size()) - s.history_at;
  s.bias_at = int(c.bias.size());
  if (r.one_in(3))
    for (int id : r.some(vocab, r.below(20))) c.bias.push_back({id, r.one_in(50) ? INFINITY : r.pick({-100.0f, -1.0f, 0.5f, 3.0f, 100.0f})});
  s.bias_n = int(c.bias.size()) - s.bias_at;
  s.masked_at = int(c.masked.size());
  if (r.one_in(3))
    for (int id : r.some(vocab, r.pick({1, 5, vocab / 2, vocab}))) c.masked.push_back(id);
  s.masked_n = int(c.masked.size()) - s.masked_at;
  if (r.one_in(3)) {
    s.allowed_at = int(c.allowed.size());
    int kind = r.below(4);
    for (int i = 0; i < (vocab + 31) / 32; i++)
      c.allowed.push_back(kind == 0 ? uint32_t(r.bits() | r.bits()) : kind == 1 ? 1u << r.below(32) : kind == 2 ? 0 : uint32_t(r.bits() & r.bits()));
  }
  return s;
}

// duel makes two tokens tie at the top after penalties, so that one rounding more or less decides between them.
void duel(Random &r, SampleSpec &s, Case &c) {
  int vocab = c.step.vocab, a = r.below(vocab), b = r.below(vocab);
  float *x = &c.logits[size_t(s.output) * vocab];
  for (int i = 0; i < vocab; i++) x[i] = -1;
  x[a] = x[b] = r.normal(10) + 100;
  s.temperature = 0;
  s.repetition = 1 + float(r.below(100)) / 300;
  s.frequency = float(r.below(100)) / 300;
  s.presence = float(r.below(100)) / 300;
  TokenCount h{a, 1 + r.below(30), 0};
  s.history_at = int(c.history.size());
  s.history_n = 1;
  s.bias_n = s.masked_n = 0;
  s.allowed_at = -1;
  c.history.push_back(h);
  volatile float v = x[a] / s.repetition, frequency = s.frequency * float(h.output);
  v = v - frequency;
  if (a != b) x[b] = v - s.presence;
}

} // namespace

Case random_case(uint64_t seed, int largest) {
  Random r{std::mt19937_64(seed)};
  Case c;
  do c.step.vocab = r.pick({1, 2, 31, 32, 33, 64, 65, 97, 300, 701, 1025, 2049, 4097, 32000});
  while (c.step.vocab > largest || (c.step.vocab == 32000 && !r.one_in(8)));
  int vocab = c.step.vocab, outputs = 1 + r.below(4);
  c.logits.resize(size_t(outputs) * vocab);
  for (int o = 0; o < outputs; o++) fill(r, &c.logits[size_t(o) * vocab], vocab);
  int samples = r.below(6), scores = r.below(4), results = scores, entries = 0;
  auto some_top = [&] { return r.pick({0, 0, 1, 2, 5, 20, vocab > 2000 ? 70 : vocab, vocab > 2000 ? 20 : vocab + 3}); };
  std::vector<int> rows = r.some(12, samples);
  for (int i = 0; i < samples; i++) {
    SampleSpec s = settings(r, c);
    s.output = r.below(outputs);
    s.row = rows[i];
    if (i == 0 && r.one_in(3)) duel(r, s, c);
    if (r.one_in(3)) {
      s.score = results++;
      s.top = some_top();
      s.top_at = entries;
      entries += std::min(s.top, vocab);
    }
    c.sample.push_back(s);
  }
  for (int i = 0; i < scores; i++) {
    ScoreSpec s{r.below(outputs), r.below(vocab), some_top(), entries};
    entries += std::min(s.top, vocab);
    c.score.push_back(s);
  }
  c.sampled.assign(12, -7);
  c.sample_result.assign(samples, {-7, -7, -7, -7});
  c.score_result.assign(results, {-7, -7});
  c.top.assign(entries, {-7, -7});
  c.threads = r.pick({64u, 64u, 96u, 160u, vocab > 300 ? 512u : 64u});
  c.sample_grid = 1 + r.below(samples + 3);
  c.score_grid = 1 + r.below(samples + scores + 3);
  c.schedule = seed;
  c.point();
  return c;
}
