// control.cc: see control.h.
#include "control.h"
#include "driver.h"

#include <string.h>

using namespace fake;

int troupe_fake_counts(uint64_t *out, int n) {
  Lock hold(driver().lock);
  uint64_t all[totals];
  count_all(all);
  for (int i = 0; i < n && i < totals; i++) out[i] = all[i];
  return totals;
}

const char *troupe_fake_count_names(void) {
  return "contexts modules memories pinned streams events graphs execs leaks calls kernels bytes";
}

const char *troupe_fake_set(const char *text) {
  static thread_local std::string error;
  Driver &d = driver();
  Lock hold(d.lock);
  uint64_t seed = d.settings.seed;
  error = parse_settings(text, d.settings);
  if (d.settings.seed != seed) d.random.seed(d.settings.seed);
  emu::set_workers(d.settings.workers);
  emu::architecture = d.settings.architecture;
  return error.empty() ? nullptr : error.c_str();
}

void troupe_fake_fail(const char *name, uint64_t nth, int code) {
  std::string text = std::string(name) + ":" + (nth ? std::to_string(nth) : "*") + "=" + std::to_string(code);
  troupe_fake_set(text.c_str());
}

const char *troupe_fake_error(void) {
  static thread_local std::string text;
  Driver &d = driver();
  Lock hold(d.lock);
  text = d.last_error;
  return text.c_str();
}

const char *troupe_fake_check(void) {
  static thread_local std::string text;
  Lock hold(driver().lock);
  text = broken_zone(nullptr, nullptr);
  return text.empty() ? nullptr : text.c_str();
}
