// Runs the sampling kernels over the emulation.
//
//   main twin FIRST COUNT LARGEST   compares COUNT random cases, seeds FIRST and on, with the twin
//   main weights COUNT              compares the weights of COUNT logits with exp of the quotient, to the bit
//   main serve                      reads steps from standard input and writes their results; see read_case
//
// Exit code 1 after a difference, which is printed.
#include "portable.cuh"

// Any number of threads, to show that results do not depend on it.
#undef KERNEL_BLOCKS
#define KERNEL_BLOCKS(threads, blocks, name) KERNEL(name)
#define SAMPLING_ASSERT(holds) \
  if (!(holds)) emu::fail("%s:%d: %s does not hold", __FILE__, __LINE__, #holds)
#include "sampling.cu"

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <string>

#include "cases.h"
#include "twin.h"

// launch runs both kernels. Scratch is allocated to the byte, so that AddressSanitizer sees what leaves it.
static std::string launch(Case &c) {
  const Step *step = &c.step;
  const float *logits = c.logits.data();
  size_t bytes = sample_scratch_bytes(c.step.vocab);
  auto run = [&](const char *name, unsigned grid) {
    std::vector<unsigned char> scratch(bytes * grid, 0xff);
    unsigned char *p = scratch.data();
    void *args[] = {&step, &logits, &p};
    return emu::run({emu::find(name), {grid, 1, 1}, {c.threads, 1, 1}, 0, args, c.schedule, false});
  };
  std::string error = run("sample", c.sample_grid);
  return error.empty() ? run("score", c.score_grid) : error;
}

template <class T>
static bool same(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// check returns what is wrong with a case, or nothing.
static std::string check(Case &c) {
  std::vector<float> before = c.logits;
  std::vector<int32_t> sampled = c.sampled;
  std::vector<SampleResult> samples = c.sample_result;
  std::vector<ScoreResult> scores = c.score_result;
  std::vector<TopEntry> top = c.top;
  Twin twin{c.step, c.logits.data()};
  auto score = [&](const ScoreSpec &spec, int result) {
    std::vector<TopEntry> list;
    scores[result] = twin.score(spec, list);
    std::copy(list.begin(), list.end(), top.begin() + spec.top_at);
  };
  for (size_t i = 0; i < c.sample.size(); i++) {
    const SampleSpec &s = c.sample[i];
    samples[i] = twin.sample(s);
    sampled[s.row] = std::max(samples[i].token, 0);
    if (s.score >= 0 && samples[i].status == 0) score({s.output, samples[i].token, s.top, s.top_at}, s.score);
  }
  for (size_t i = 0; i < c.score.size(); i++) score(c.score[i], int(i));

  std::string error = launch(c);
  if (!error.empty()) return error;
  char text[1000];
  for (size_t i = 0; i < samples.size(); i++) {
    const SampleResult &g = c.sample_result[i], &w = samples[i];
    const SampleSpec &s = c.sample[i];
    if (memcmp(&g, &w, sizeof g) == 0) continue;
    snprintf(text, sizeof text,
             "sample %zu: token %d status %d nan %d, want %d %d %d; vocab %d threads %u temperature %g top_p %.9g min_p %g top_k %d "
             "history %d bias %d masked %d allowed %d",
             i, g.token, g.status, g.nan_token, w.token, w.status, w.nan_token, c.step.vocab, c.threads, s.temperature, s.top_p, s.min_p, s.top_k,
             s.history_n, s.bias_n, s.masked_n, s.allowed_at >= 0);
    return text;
  }
  auto equal = [](float a, float b) { return a != a ? b != b : bits_of(a) == bits_of(b); }; // a NaN has any bits
  for (size_t i = 0; i < scores.size(); i++) {
    const ScoreResult &g = c.score_result[i], &w = scores[i];
    if (g.token == w.token && equal(g.logprob, w.logprob)) continue;
    snprintf(text, sizeof text, "score %zu: %d %a, want %d %a; vocab %d threads %u", i, g.token, g.logprob, w.token, w.logprob, c.step.vocab, c.threads);
    return text;
  }
  for (size_t i = 0; i < top.size(); i++) {
    const TopEntry &g = c.top[i], &w = top[i];
    if (g.token == w.token && equal(g.logprob, w.logprob)) continue;
    snprintf(text, sizeof text, "top %zu of %zu: %d %a, want %d %a; vocab %d threads %u", i, top.size(), g.token, g.logprob, w.token, w.logprob, c.step.vocab, c.threads);
    return text;
  }
  if (!same(c.sampled, sampled)) return "sampled tokens of rows differ";
  if (!same(c.logits, before)) return "the logits were changed";
  return "";
}

static int compare(uint64_t first, uint64_t count, int largest) {
  uint64_t failed = 0, samples = 0, scores = 0;
  for (uint64_t seed = first; seed < first + count && failed < 5; seed++) {
    Case c = random_case(seed, largest);
    std::string error = check(c);
    samples += c.sample.size();
    scores += c.score_result.size();
    if (!error.empty()) failed++, printf("seed %llu: %s\n", (unsigned long long)seed, error.c_str());
  }
  printf("%llu cases, %llu samples, %llu scores, %llu failed\n", (unsigned long long)count, (unsigned long long)samples, (unsigned long long)scores, (unsigned long long)failed);
  return failed > 0;
}

// A step of serve is 15 int32 (see below), then the arrays, as in step.cuh. The answer is sample_result, sampled,
// score_result, top, then the length of an error's text and the text.
template <class T>
static bool read_array(std::vector<T> &v, int n) {
  v.resize(size_t(n));
  return n == 0 || fread(v.data(), sizeof(T), v.size(), stdin) == v.size();
}
template <class T>
static void write_array(const std::vector<T> &v) {
  if (!v.empty()) fwrite(v.data(), sizeof(T), v.size(), stdout);
}
static bool read_case(Case &c) {
  std::vector<int32_t> n;
  if (!read_array(n, 15)) return false;
  c.step.vocab = n[0];
  if (!read_array(c.logits, n[0] * n[1]) || !read_array(c.sample, n[2]) || !read_array(c.score, n[3]) || !read_array(c.history, n[4]) ||
      !read_array(c.bias, n[5]) || !read_array(c.masked, n[6]) || !read_array(c.allowed, n[7]))
    return false;
  c.sampled.assign(size_t(n[8]), -7);
  c.sample_result.assign(size_t(n[2]), {-7, -7, -7, -7});
  c.score_result.assign(size_t(n[9]), {-7, -7});
  c.top.assign(size_t(n[10]), {-7, -7});
  c.threads = unsigned(n[11]);
  c.sample_grid = unsigned(n[12]);
  c.score_grid = unsigned(n[13]);
  c.schedule = uint64_t(n[14]);
  c.point();
  return true;
}

static int serve() {
  for (Case c; read_case(c); c = Case{}) {
    std::string error = launch(c);
    write_array(c.sample_result);
    write_array(c.sampled);
    write_array(c.score_result);
    write_array(c.top);
    int32_t length = int32_t(error.size());
    fwrite(&length, 4, 1, stdout);
    fwrite(error.data(), 1, error.size(), stdout);
    fflush(stdout);
  }
  return 0;
}

// weights compares weigh, which has short cuts, with its definition.
static int weights(uint64_t count) {
  std::mt19937_64 bits(1);
  auto uniform = [&](float a, float b) { return std::uniform_real_distribution<float>(a, b)(bits); };
  uint64_t failed = 0;
  for (uint64_t i = 0; i < count; i++) {
    float temperature = i % 3 == 0 ? 1.0f : i % 3 == 1 ? uniform(0.01f, 3) : ldexpf(uniform(1, 2), int(bits() % 60) - 20);
    float highest = uniform(-50, 50), x = highest - uniform(0, i % 5 == 0 ? 50 : 5) * temperature;
    if (!(x < highest)) continue;
    double want = exp_f64((double(x) - double(highest)) / double(temperature)), got = weigh(weight_of(highest, temperature), x);
    if (units(got) == uint64_t(want * 0x1p63) && (got == want * 0x1p63 || got == 0)) continue;
    if (failed++ < 5) printf("x %a highest %a temperature %a: weight %a, want %a\n", x, highest, temperature, got * 0x1p-63, want);
  }
  printf("%llu weights, %llu failed\n", (unsigned long long)count, (unsigned long long)failed);
  return failed > 0;
}

int main(int argc, char **argv) {
  if (argc == 5 && std::string(argv[1]) == "twin") return compare(strtoull(argv[2], nullptr, 10), strtoull(argv[3], nullptr, 10), atoi(argv[4]));
  if (argc == 3 && std::string(argv[1]) == "weights") return weights(strtoull(argv[2], nullptr, 10));
  if (argc == 2 && std::string(argv[1]) == "serve") return serve();
  fprintf(stderr, "usage: main twin FIRST COUNT LARGEST | main weights COUNT | main serve\n");
  return 2;
}
