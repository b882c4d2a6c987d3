// settings.cc: the text form of settings and faults; see control.h.
#include "control.h"
#include "driver.h"

#include <stdlib.h>
#include <string.h>

namespace fake {
namespace {

bool number(const std::string &text, uint64_t &out) {
  char *end;
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  out = strtoull(text.c_str(), &end, 10);
  static const struct {
    const char *name;
    int shift;
  } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  for (auto &u : units)
    if (!strcmp(end, u.name)) {
      out <<= u.shift;
      return true;
    }
  return false;
}

// which reads "3", "3+" or "*".
bool which(const std::string &text, Fault &f) {
  f.to = ~(uint64_t)0;
  f.from = 1;
  if (text == "*") return true;
  std::string n = text;
  bool open = !n.empty() && n.back() == '+';
  if (open) n.pop_back();
  if (!number(n, f.from) || !f.from) return false;
  if (!open) f.to = f.from;
  return true;
}

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts{""};
  for (char c : text) {
    if (c == at)
      parts.push_back("");
    else
      parts.back() += c;
  }
  return parts;
}

std::string unversioned(const std::string &call) {
  size_t n = call.size();
  return n > 3 && call[n - 3] == '_' && call[n - 2] == 'v' ? call.substr(0, n - 3) : call;
}

// read_fault reads CALL, CALL:N or run:KERNEL:N.
bool read_fault(const std::string &text, int code, Fault &f) {
  std::vector<std::string> p = split(text, ':');
  f.code = code;
  f.call = unversioned(p[0]);
  if (f.call == "run") {
    if (p.size() < 2 || p.size() > 3) return false;
    f.kernel = p[1] == "*" ? "" : p[1];
    return which(p.size() == 3 ? p[2] : "*", f);
  }
  return p.size() <= 2 && f.call.compare(0, 2, "cu") == 0 && which(p.size() == 2 ? p[1] : "*", f);
}

std::string item(const std::string &text, Settings &s) {
  size_t eq = text.find('=');
  std::string key = text.substr(0, eq), value = eq == std::string::npos ? "" : text.substr(eq + 1);
  uint64_t n = 0;
  bool is_number = number(value, n);
  auto bad = [&](const char *want) { return "TROUPE_FAKE_CUDA: \"" + text + "\": " + want; };
  if (key == "off") {
    s.faults.clear();
  } else if (key == "found") {
    find_devices();
  } else if (key == "version" || key == "devices" || key == "memory" || key == "taken" || key == "multiprocessors" ||
             key == "seed" || key == "workers") {
    if (!is_number) return bad("a number is needed");
    if (key == "version") s.version = (int)n;
    if (key == "devices") {
      if (n > 8) return bad("at most 8");
      s.devices = (int)n;
    }
    if (key == "memory") s.memory = n;
    if (key == "taken") s.taken = n;
    if (key == "multiprocessors") s.multiprocessors = (int)n;
    if (key == "seed") s.seed = n;
    if (key == "workers") s.workers = (int)n;
  } else if (key == "arch") {
    if (value.size() != 3 || value[1] != '.') return bad("a compute capability such as 9.0 is needed");
    s.architecture = (value[0] - '0') * 10 + (value[2] - '0');
  } else if (key == "copies") {
    if (value != "late" && value != "early" && value != "mixed") return bad("late, early or mixed is needed");
    s.copies = value == "late" ? Settings::late : value == "early" ? Settings::early : Settings::mixed;
    s.copies_set = true;
  } else if (key == "work") {
    if (value != "late" && value != "eager") return bad("late or eager is needed");
    s.eager = value == "eager";
  } else if (key == "report") {
    s.report = value;
  } else if (key == "hang") {
    Fault f;
    if (!read_fault(value, -1, f)) return bad("CALL, CALL:N or run:KERNEL:N is needed");
    s.faults.push_back(f);
  } else if (key == "lost") {
    Fault f;
    if (!read_fault("run:*:" + value, -2, f)) return bad("a number is needed");
    s.faults.push_back(f);
  } else {
    Fault f;
    if (!is_number || !read_fault(key, (int)n, f)) return bad("it is neither a setting nor CALL:N=CODE nor run:KERNEL:N=CODE");
    s.faults.push_back(f);
  }
  return "";
}

} // namespace

std::string parse_settings(const char *text, Settings &s) {
  for (std::string t : split(text ? text : "", ';')) {
    while (!t.empty() && (t[0] == ' ' || t[0] == '\n')) t.erase(0, 1);
    if (t.empty()) continue;
    std::string e = item(t, s);
    if (!e.empty()) return e;
  }
  return "";
}

int fault(Lock &hold, const char *call, const char *kernel) {
  Driver &d = driver();
  if (d.settings.faults.empty()) return 0;
  std::string name = unversioned(call);
  int code = 0;
  for (Fault &f : d.settings.faults) {
    if (f.call != name || (!f.kernel.empty() && f.kernel != kernel)) continue;
    f.seen++;
    if (f.seen >= f.from && f.seen <= f.to && !code) code = f.code;
  }
  if (code == -1 && !kernel[0]) // for ever; the lock is free meanwhile
    for (;;) d.changed.wait(hold);
  return code;
}

} // namespace fake
