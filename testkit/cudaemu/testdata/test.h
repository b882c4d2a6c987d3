// test.h: a small frame for tests in C++. A program runs all tests that are linked
// in, or those named as arguments, and prints a line for each: "ok NAME" or
// "FAIL NAME: what". Lines with "time" are measurements.
#pragma once

#include "emu.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <random>
#include <string>
#include <vector>

struct Test {
  const char *name;
  void (*run)();
  Test *next;
  Test(const char *name, void (*run)());
};
#define TEST(name)                           \
  static void test_##name();                 \
  static Test own_##name(#name, test_##name); \
  static void test_##name()

extern std::mt19937 random_bits;

// wrong notes a failure of the running test; the first few are printed.
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
// expect_error notes a failure unless an error's text contains every word.
void expect_error(const std::string &error, std::initializer_list<const char *> words);
// nanoseconds of the processor since the start of the process.
double cpu_time();

struct Shape {
  unsigned grid = 1, threads = 32;
  size_t dynamic = 0;
  uint64_t seed = 1;
  bool early = false;
  unsigned grid_y = 1;
};

// start launches a kernel and returns the error's text.
template <class... A> std::string start(const char *name, Shape s, A... a) {
  const emu::Kernel *k = emu::find(name);
  if (!k) {
    printf("FAIL: no kernel %s\n", name);
    exit(1);
  }
  void *args[] = {(void *)&a..., nullptr};
  emu::Launch l{k, {s.grid, s.grid_y, 1}, {s.threads, 1, 1}, s.dynamic, args, s.seed, s.early};
  return emu::run(l);
}

// run is start that must succeed.
template <class... A> void run(const char *name, Shape s, A... a) {
  std::string e = start(name, s, a...);
  if (!e.empty()) wrong("%s: %s", name, e.c_str());
}
