#include "test.h"

#include <string.h>
#include <time.h>

std::mt19937 random_bits(1);
static Test *tests;
static int failures;

Test::Test(const char *n, void (*r)()) : name(n), run(r), next(nullptr) {
  Test **end = &tests;
  while (*end) end = &(*end)->next;
  *end = this;
}

static std::string first;

void wrong(const char *format, ...) {
  char text[1000];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (!failures++) first = text;
}

void expect_error(const std::string &error, std::initializer_list<const char *> words) {
  for (const char *w : words)
    if (error.find(w) == std::string::npos) wrong("the error is \"%s\", and should contain \"%s\"", error.c_str(), w);
}

double cpu_time() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  int bad = 0;
  for (Test *t = tests; t; t = t->next) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; i++) wanted |= !strcmp(argv[i], t->name);
    if (!wanted) continue;
    failures = 0;
    random_bits.seed(1);
    emu::architecture = 90;
    emu::set_workers(0);
    t->run();
    if (failures)
      printf("FAIL %s: %s (%d times)\n", t->name, first.c_str(), failures);
    else
      printf("ok %s\n", t->name);
    fflush(stdout);
    bad += failures != 0;
  }
  return bad != 0;
}
