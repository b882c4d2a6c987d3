// Tests of the kernels against plain twins in double precision, over the emulation. Each test launches kernels on
// awkward shapes and adds rows to a table: kernel, shape, largest error, limit. Errors are relative to the largest
// number of the twin. Memory is allocated to the byte, so that -fsanitize=address sees what leaves it.
#pragma once
#include "numeric.cuh"
#include "step.cuh"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

extern int failures;

struct Grid {
  unsigned x, y = 1, z = 1;
};

// launch runs a kernel and ends the process if the emulation finds something wrong. Each has another schedule.
void launch_args(const char *kernel, Grid grid, unsigned threads, size_t dynamic_bytes, void **args, int n, const int *sizes);

template <class... A>
void launch(const char *kernel, Grid grid, unsigned threads, size_t dynamic_bytes, A... args) {
  void *list[] = {(void *)&args...};
  int sizes[] = {int(sizeof(A))...};
  launch_args(kernel, grid, threads, dynamic_bytes, list, int(sizeof...(A)), sizes);
}

// Random numbers.
extern std::mt19937 random_bits;
inline int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_bits); }
std::vector<float> normal(size_t n, float deviation = 1);

// narrowed are numbers in the type of weights, and widened back in double.
template <class T>
std::vector<T> narrowed(const std::vector<float> &x) {
  std::vector<T> y(x.size());
  for (size_t i = 0; i < x.size(); i++) y[i] = narrow<T>(x[i]);
  return y;
}

template <class T>
const char *type_name() {
  if (__is_same(T, float)) return "f32";
  if (__is_same(T, bf16)) return "bf16";
  if (__is_same(T, f16)) return "f16";
  return "i8";
}

template <class T>
std::string named(const char *kernel) {
  return std::string(kernel) + "_" + type_name<T>();
}

std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));

// check adds a row to the table.
void check(const std::string &kernel, const std::string &shape, const float *got, const double *want, size_t n, double limit);
inline void check(const std::string &kernel, const std::string &shape, const std::vector<float> &got, const std::vector<double> &want, double limit) {
  check(kernel, shape, got.data(), want.data(), want.size(), limit);
}

// same adds a row only if bits differ.
void same(const std::string &kernel, const std::string &what, const void *got, const void *want, size_t bytes);
template <class T>
void same(const std::string &kernel, const std::string &what, const std::vector<T> &got, const std::vector<T> &want) {
  same(kernel, what, got.data(), want.data(), want.size() * sizeof(T));
}

// expect adds a row only if something does not hold.
void expect(const std::string &kernel, const std::string &what, bool holds);

// architectures are those whose tensor cores a test tries: Ampere and Hopper with the first seed, then Hopper.
const std::vector<int> &architectures();

// Test is one of the list that main runs.
struct Test {
  const char *name;
  void (*run)();
  Test *next;
  Test(const char *name, void (*run)());
};
#define TEST(name)                                       \
  static void test_##name();                             \
  static Test registered_##name(#name, &test_##name);    \
  static void test_##name()

// Tables are a step's page table and its tokens. Pages are shuffled over the pool; page 0 is padding.
struct Tables {
  int page_shift, page_stride, pages; // pages of the pool, page 0 included
  std::vector<int32_t> table, id, position, row, output, sampled;
  Step step;

  // contexts: for each row of the table, the positions that it holds.
  Tables(int page_shift, const std::vector<int> &contexts);
  void token(int row, int position, int id = 0);
  const Step *ready(int vocab = 1); // points step at the vectors
  int64_t slot(int row, int position) const; // page x slots of a page + slot
  int slots() const { return pages << page_shift; }
};
