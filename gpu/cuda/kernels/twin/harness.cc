#include "harness.h"

#include <stdarg.h>

#include <algorithm>

int failures;
std::mt19937 random_bits(1);
static uint64_t schedule;
static unsigned seed;
static Test *tests;

Test::Test(const char *name, void (*run)()) : name(name), run(run), next(tests) { tests = this; }

std::string text(const char *format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  return buffer;
}

void launch_args(const char *kernel, Grid grid, unsigned threads, size_t dynamic_bytes, void **args, int n, const int *sizes) {
  const emu::Kernel *k = emu::find(kernel);
  if (!k) {
    printf("FAIL\t%s\tthere is no such kernel\n", kernel);
    exit(1);
  }
  bool fits = k->parameters == n;
  for (int i = 0; fits && i < n; i++) fits = k->sizes[i] == sizes[i];
  if (!fits) {
    printf("FAIL\t%s\tthe test passes other parameters\n", kernel);
    exit(1);
  }
  emu::Launch l{};
  l.kernel = k;
  l.grid = {grid.x, grid.y, grid.z};
  l.block = {threads, 1, 1};
  l.dynamic_bytes = dynamic_bytes;
  l.args = args;
  l.seed = schedule++;
  l.overlaps = true;
  l.early = schedule * 0x9e3779b97f4a7c15 >> 62 == 0; // for one in four, copies complete at once, not as late as allowed
  std::string error = emu::run(l);
  if (!error.empty()) {
    printf("FAIL\t%s\t%s\n", kernel, error.c_str());
    exit(1);
  }
}

std::vector<float> normal(size_t n, float deviation) {
  std::normal_distribution<float> d(0, deviation);
  std::vector<float> x(n);
  for (float &v : x) v = d(random_bits);
  return x;
}

void check(const std::string &kernel, const std::string &shape, const float *got, const double *want, size_t n, double limit) {
  double largest = 1e-30, error = 0;
  for (size_t i = 0; i < n; i++) largest = std::max(largest, fabs(want[i]));
  for (size_t i = 0; i < n; i++) {
    double d = fabs(double(got[i]) - want[i]);
    error = !(d <= error) ? d : error; // NaN stays
  }
  error /= largest;
  bool good = error <= limit;
  failures += !good;
  printf("%s\t%s\t%s\t%.2g\t%.2g\n", good ? "ok" : "FAIL", kernel.c_str(), shape.c_str(), error, limit);
}

void same(const std::string &kernel, const std::string &what, const void *got, const void *want, size_t bytes) {
  if (bytes == 0 || memcmp(got, want, bytes) == 0) return; // nothing may be at no address
  size_t at = 0;
  while (((const char *)got)[at] == ((const char *)want)[at]) at++;
  failures++;
  printf("FAIL\t%s\t%s: byte %zu of %zu differs\n", kernel.c_str(), what.c_str(), at, bytes);
}

void expect(const std::string &kernel, const std::string &what, bool holds) {
  if (holds) return;
  failures++;
  printf("FAIL\t%s\t%s\n", kernel.c_str(), what.c_str());
}

const std::vector<int> &architectures() {
  static const std::vector<int> all = {80, 90}, newest = {90};
  return seed == 1 ? all : newest;
}

Tables::Tables(int page_shift, const std::vector<int> &contexts) : page_shift(page_shift), page_stride(0), pages(1) {
  for (int c : contexts) {
    int n = (c + (1 << page_shift) - 1) >> page_shift;
    page_stride = std::max(page_stride, n);
    pages += n;
  }
  std::vector<int32_t> free(pages - 1);
  for (int i = 0; i < pages - 1; i++) free[i] = i + 1;
  std::shuffle(free.begin(), free.end(), random_bits);
  table.assign(contexts.size() * page_stride, 0x7fffffff); // what is not used must not be read
  for (size_t r = 0; r < contexts.size(); r++) {
    for (int i = 0; i << page_shift < contexts[r]; i++) {
      table[r * page_stride + i] = free.back();
      free.pop_back();
    }
  }
  sampled.resize(contexts.size(), -1);
}

void Tables::token(int r, int p, int i) {
  row.push_back(r);
  position.push_back(p);
  id.push_back(i);
}

const Step *Tables::ready(int vocab) {
  memset(&step, 0xff, sizeof step);
  step.tokens = int(row.size());
  step.outputs = int(output.size());
  step.page_shift = page_shift;
  step.page_stride = page_stride;
  step.vocab = vocab;
  step.token_id = id.data();
  step.token_position = position.data();
  step.token_row = row.data();
  step.output_token = output.data();
  step.page_table = table.data();
  step.sampled = sampled.data();
  return &step;
}

int64_t Tables::slot(int r, int p) const {
  return (int64_t(table[r * page_stride + (p >> page_shift)]) << page_shift) + (p & ((1 << page_shift) - 1));
}

// usage: twin [SEED [TEST]...]. Prints the table; exits with 1 if something failed.
int main(int argc, char **argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  seed = argc > 1 ? unsigned(atoi(argv[1])) : 1;
  std::vector<Test *> list;
  for (Test *t = tests; t; t = t->next) list.push_back(t);
  std::sort(list.begin(), list.end(), [](Test *a, Test *b) { return strcmp(a->name, b->name) < 0; });
  for (Test *t : list) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; i++) wanted |= strcmp(argv[i], t->name) == 0;
    if (!wanted) continue;
    random_bits.seed(seed);
    schedule = uint64_t(seed) << 32;
    t->run();
  }
  printf("%d failures\n", failures);
  return failures != 0;
}
