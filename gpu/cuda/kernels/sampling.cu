// sample and score: the next token of each row, and log probabilities, as gpu/ref/sample.go defines them.
//
// One block of 512 threads (64 or more, a multiple of 32) does one entry after another: entry blockIdx.x, then
// gridDim.x further on, so any grid does for any step. scratch has sample_scratch_bytes(vocab) for each block; both
// kernels may use the same. The logits are only read.
//
// Order of sums: none. Weights are cut to units of 2^-63 and added as integers (sampling_sum.cuh), so a result depends
// on its own logits and settings only, to the bit. Passes over the whole vocabulary:
//
//   greedy                1: highest
//   temperature only      2: highest; weights
//   top-k to 512          2: highest; those as high as the k-th highest peak of the threads
//   top-p                 3: highest; weights, in all and down to e^-4, e^-8, e^-16 of the highest; those down to there
//   min-p only            2: highest; weights, without exp where a logit is far too low
//   penalties, masks      1 more, which makes a copy
//   log probabilities     2, and 1 more for the most likely tokens
//
// A top-k above 512 counts classes of keys over the whole vocabulary first, and a top-p of a flat distribution counts
// classes of all of it: 1 to 4 passes more.
//
// Versions
//   1  First. Not measured yet. By its instructions (sm_90a: 14 per logit to find the highest; 56 to weigh, 26 of them
//      in float64), a multiprocessor at 1.75 GHz needs 10 us to find the highest of 152,000 logits and 38 us to weigh
//      them. Several blocks per entry would not change a bit.
#include "sampling.cuh"

using namespace sampling;

// sample_scratch_bytes is the scratch of a block: a logit and an id per token of the vocabulary, 1.2 MB for 152,000.
DEVICE size_t padded(int vocab) { return (size_t(vocab) + 31) / 32 * 32; }
DEVICE size_t sample_scratch_bytes(int vocab) { return 8 * padded(vocab); }

struct Scratch {
  float *x;
  int32_t *id;
};
DEVICE Scratch scratch_of_block(unsigned char *scratch, int vocab) {
  float *x = reinterpret_cast<float *>(scratch + blockIdx.x * sample_scratch_bytes(vocab));
  return Scratch{x, reinterpret_cast<int32_t *>(x + padded(vocab))};
}

// nucleus returns how much weight top-p keeps of a list, at least one unit, and raises low to a key that all of what it
// keeps has at least.
DEVICE Sum nucleus(Workspace &ws, const List &l, const Weight &w, float top_p, uint32_t &low) {
  // Sums of weights down to e^-4, e^-8 and e^-16, in units of 2^-31, rounded down, so that they are lower bounds.
  constexpr int DEPTHS = 3;
  constexpr uint32_t DOWN_TO[DEPTHS] = {39332536, 720401, 242};
  uint64_t sum[DEPTHS] = {0, 0, 0};
  Adder all{0, 0};
  each<4>(l, w.least, [&](float x, int32_t) {
    uint64_t u = units(weigh(w, x));
    add(all, u);
    uint32_t high = uint32_t(u >> 32);
    UNROLL for (int d = 0; d < DEPTHS; d++) sum[d] += high >= DOWN_TO[d] ? high : 0;
  });
  Sum goal = whole(dmul(double(top_p), to_double(total(exchange(ws, sum_of(all))))), true);
  if (!reaches(goal, sum_of(1))) goal = sum_of(1);
  int depth = 0;
  UNROLL for (int d = DEPTHS - 1; d >= 0; d--)
    if (reaches(total(exchange(ws, sum_of(Adder{0, sum[d]}))), goal)) depth = 4 << d;
  if (depth > 0) low = larger(low, key_of(at_depth(w.highest, w.temperature, double(depth))));
  return goal;
}

// draw samples a token from a list of all tokens at a temperature of 1e-6 or more.
DEVICE int32_t draw(Workspace &ws, List l, const Extremes &e, const SampleSpec &spec, int vocab, const Scratch &to) {
  Weight w = weight_of(value_of(e.high), spec.temperature);
  // Top-k, then top-p: both keep the first candidates, by their number or their weight.
  UNROLL_BY(1) for (int by_weight = 0; by_weight < 2; by_weight++) {
    if (by_weight ? !(spec.top_p < 1.0f) : spec.top_k <= 0 || spec.top_k >= vocab) continue;
    uint32_t low = e.low;
    Sum goal = sum_of(uint64_t(spec.top_k));
    if (by_weight)
      goal = nucleus(ws, l, w, flarger(spec.top_p, 0.0f), low);
    else
      low = peak_border(ws, e, spec.top_k);
    auto measure = [=](float x) -> uint64_t { return by_weight ? units(weigh(w, x)) : 1; };
    l = leading(ws, l, low, e.high, low > e.low, goal, to.x, to.id, measure);
  }
  double min_p = spec.min_p < 1.0f ? double(spec.min_p) : 1.0; // the highest always stays
  if (min_p > 0.0) w.least = flarger(at_depth(w.highest, w.temperature, -log_f64(min_p)), w.least);
  min_p = dmul(min_p, 0x1p63);
  auto kept = [=](float x, int32_t) -> uint64_t {
    double y = weigh(w, x);
    return y < min_p ? 0 : units(y);
  };
  Sum parts = sums(ws, l, w.least, kept);
  double goal = dmul(uniform(spec.seed, spec.choice, spec.position), to_double(total(parts))); // always below the total
  return find(ws, l, parts, plus(whole(goal, false), sum_of(1)), kept);
}

// sample_one samples a token. All threads of the block return the same.
DEVICE SampleResult sample_one(Workspace &ws, const Step *step, const SampleSpec &spec, const float *logits, const Scratch &to) {
  int vocab = step->vocab;
  List all = split(adjusted(step, spec, logits + int64_t(spec.output) * vocab, to.x), nullptr, 0, vocab);
  Extremes e = extremes(ws, all);
  if (e.low == 0) {
    auto is_nan = [](float x, int32_t) -> uint64_t { return x != x; };
    return SampleResult{-1, 2, find(ws, all, sums(ws, all, -INFINITE, is_nan), sum_of(1), is_nan), 0};
  }
  if (e.high == key_of(-INFINITE)) return SampleResult{-1, 1, -1, 0};
  return SampleResult{spec.temperature < 1e-6f ? e.first : draw(ws, all, e, spec, vocab, to), 0, -1, 0};
}

// sample writes sample_result, and sampled of the rows: token 0 where none was sampled, since the next step may be
// under way.
KERNEL_BLOCKS(THREADS, 1, sample)(const Step *step, const float *logits, unsigned char *scratch) {
  wait_for_previous();
  SHARED(Workspace, ws, [1]);
  Scratch to = scratch_of_block(scratch, step->vocab);
  for (int i = int(blockIdx.x); i < step->samples; i += int(gridDim.x)) {
    __syncthreads(); // shared memory and scratch of the last entry have been read
    SampleResult r = sample_one(ws[0], step, step->sample[i], logits, to);
    if (threadIdx.x == 0) {
      step->sample_result[i] = r;
      step->sampled[step->sample[i].row] = r.status == 0 ? r.token : 0;
    }
  }
}
REGISTER(sample);

// score_one writes the log probability of a token, and those of the most likely ones, highest first.
DEVICE void score_one(Workspace &ws, const Step *step, const ScoreSpec &spec, const float *logits, const Scratch &to, ScoreResult *result) {
  int vocab = step->vocab, k = smaller(spec.top, vocab);
  const float *row = logits + int64_t(spec.output) * vocab;
  List l = split(row, nullptr, 0, vocab);
  Extremes e = extremes(ws, l);
  // NaN, nothing but -inf, or inf among the logits: the log probabilities are NaN.
  bool finite = e.low > 0 && e.high > key_of(-INFINITE) && e.high < key_of(INFINITE);
  Weight w = weight_of(row[e.first], 1.0f);
  double log_sum = 0.0;
  if (finite) log_sum = log_f64(to_double(total(sums(ws, l, w.least, [=](float x, int32_t) -> uint64_t { return units(weigh(w, x)); }))));
  auto logprob = [=](float x) -> float {
    return finite ? float(dsub(dsub(double(x), double(w.highest)), log_sum)) : float_of(0x7fc00000);
  };
  if (threadIdx.x == 0) *result = ScoreResult{logprob(row[spec.target]), spec.target};
  if (k <= 0) return;
  if (k < vocab) {
    uint32_t low = peak_border(ws, e, k);
    l = leading(ws, l, low, e.high, low > e.low, sum_of(uint64_t(k)), to.x, to.id, [](float) -> uint64_t { return 1; });
  }
  // Each candidate goes where the number of those before it says.
  int n = __shfl_sync(ALL_LANES, l.n, warp()), at = __shfl_sync(ALL_LANES, l.at, warp());
  for (int from = 0; from < n; from += 32) {
    int mine = at + smaller(from + lane(), n - 1), before = 0;
    int32_t id = l.id ? l.id[mine] : mine;
    uint32_t key = key_of(l.x[mine]);
    for (int part = 0; part < int(blockDim.x / 32); part++) {
      int first = __shfl_sync(ALL_LANES, l.at, part), end = first + __shfl_sync(ALL_LANES, l.n, part);
      for (int i = first; i < end; i++) {
        uint32_t other = key_of(l.x[i]);
        before += other > key || (other == key && (l.id ? l.id[i] : i) < id);
      }
    }
    if (from + lane() < n) step->top[spec.top_at + before] = TopEntry{id, logprob(l.x[mine])};
  }
}

// score follows sample in the stream. Its entries are those of Step::score, then those of Step::sample: blocks for
// scores + samples are the most that have work.
KERNEL_BLOCKS(THREADS, 1, score)(const Step *step, const float *logits, unsigned char *scratch) {
  wait_for_previous();
  SHARED(Workspace, ws, [1]);
  Scratch to = scratch_of_block(scratch, step->vocab);
  for (int i = int(blockIdx.x); i < step->scores + step->samples; i += int(gridDim.x)) {
    ScoreSpec spec;
    int result = i;
    if (i < step->scores) {
      spec = step->score[i];
    } else {
      const SampleSpec &s = step->sample[i - step->scores];
      const SampleResult &r = step->sample_result[i - step->scores];
      if (s.score < 0 || r.status != 0) continue;
      spec = ScoreSpec{s.output, r.token, s.top, s.top_at};
      result = s.score;
    }
    __syncthreads(); // shared memory and scratch of the last entry have been read
    score_one(ws[0], step, spec, logits, to, step->score_result + result);
  }
}
REGISTER(score);
