// device.cc: the driver itself, devices, contexts.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace fake {

thread_local Context *current;

Driver &driver() {
  static Driver *d = [] {
    Driver *n = new Driver; // never destroyed: threads of the process may still use it
    for (int i = 0; i < 8; i++) {
      n->device[i].number = i;
      n->device[i].primary.device = &n->device[i];
    }
    return n;
  }();
  return *d;
}

const char *const kind_names[kinds] = {"contexts", "modules", "memories", "pinned", "streams", "events", "graphs", "execs"};

namespace {

constexpr int lost_code = CUDA_ERROR_UNKNOWN;
bool lost[8];

} // namespace

bool is_sticky(int code) {
  switch (code) {
  case 4: case 214: case 220: case 226: case 700: case 702: case 709: case 710: case 714: case 715: case 716: case 717:
  case 718: case 719: case 721: case 911: case 999:
    return true;
  }
  return false;
}

void lose(Device &d, int code, const std::string &text) {
  if (code == -2) {
    lost[d.number] = true;
    code = lost_code;
  }
  if (!d.sticky) {
    d.sticky = code;
    driver().last_error = text;
  }
  drop_work(&d.primary);
  driver().changed.notify_all();
}

void find_devices() {
  for (Device &d : driver().device) {
    lost[d.number] = false;
    if (!d.primary.alive) d.sticky = 0;
  }
}

Call::Call(const char *name, Needs needs) : hold(driver().lock), code(0) {
  Driver &d = driver();
  d.calls++;
  code = fault(hold, name, "");
  if (code) {
    if (is_sticky(code)) lose(current ? *current->device : d.device[0], code, "");
    return;
  }
  if (needs == nothing) return;
  if (!d.initialised) {
    code = CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  if (needs == initialised) return;
  if (!current) {
    code = CUDA_ERROR_INVALID_CONTEXT;
  } else if (!current->alive) {
    code = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  } else if (current->device->sticky) {
    code = current->device->sticky;
  }
}

void count_all(uint64_t (&out)[totals]) {
  Driver &d = driver();
  memcpy(out, d.counts, sizeof d.counts);
  out[kinds] = d.leaks;
  out[kinds + 1] = d.calls;
  out[kinds + 2] = d.kernels;
  out[kinds + 3] = 0;
  for (auto &m : d.memory) out[kinds + 3] += m.second.bytes;
}

void report_counts() {
  Driver &d = driver();
  if (d.settings.report.empty()) return;
  FILE *f = fopen(d.settings.report.c_str(), "a");
  if (!f) return;
  for (int i = 0; i < kinds; i++) fprintf(f, "%s=%llu ", kind_names[i], (unsigned long long)d.counts[i]);
  fprintf(f, "leaks=%llu kernels=%llu\n", (unsigned long long)d.leaks, (unsigned long long)d.kernels);
  fclose(f);
}

namespace {

// end frees what a context has. What is still there is a leak.
void end(Lock &hold, Context *c) {
  Driver &d = driver();
  drop_work(c);
  wait_idle(hold, c);
  free_all(c);
  c->alive = false;
  c->retained = 0;
  c->device->sticky = lost[c->device->number] ? lost_code : 0;
  d.contexts.erase(c);
  d.counts[contexts]--;
  if (d.contexts.empty()) report_counts();
}

CUresult begin(Context *c) {
  Driver &d = driver();
  if (lost[c->device->number]) return (CUresult)lost_code;
  if (!c->alive) {
    c->alive = true;
    d.contexts[c] = c;
    d.counts[contexts]++;
  }
  return CUDA_SUCCESS;
}

Device *device_of(CUdevice n) {
  Driver &d = driver();
  return n >= 0 && n < d.settings.devices ? &d.device[n] : nullptr;
}

} // namespace
} // namespace fake

using namespace fake;

API cuInit(unsigned flags) {
  CALL("cuInit", Call::nothing);
  Driver &d = driver();
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  if (!d.initialised) {
    std::string e = parse_settings(getenv("TROUPE_FAKE_CUDA"), d.settings);
    if (!e.empty()) {
      fprintf(stderr, "%s\n", e.c_str());
      return CUDA_ERROR_INVALID_VALUE;
    }
    d.random.seed(d.settings.seed);
    emu::set_workers(d.settings.workers);
    emu::architecture = d.settings.architecture;
    int code = fault(call.hold, "cuInit", ""); // faults are known only now
    if (code) return (CUresult)code;
  }
  if (!d.settings.devices) return CUDA_ERROR_NO_DEVICE;
  d.initialised = true;
  return CUDA_SUCCESS;
}
API cuDriverGetVersion(int *v) {
  CALL("cuDriverGetVersion", Call::nothing);
  if (!v) return CUDA_ERROR_INVALID_VALUE;
  *v = driver().settings.version;
  return CUDA_SUCCESS;
}
API cuDeviceGetCount(int *n) {
  CALL("cuDeviceGetCount", Call::initialised);
  if (!n) return CUDA_ERROR_INVALID_VALUE;
  *n = driver().settings.devices;
  return CUDA_SUCCESS;
}
API cuDeviceGet(CUdevice *out, int n) {
  CALL("cuDeviceGet", Call::initialised);
  if (!device_of(n)) return CUDA_ERROR_INVALID_DEVICE;
  *out = n;
  return CUDA_SUCCESS;
}
API cuDeviceGetName(char *out, int n, CUdevice dev) {
  CALL("cuDeviceGetName", Call::initialised);
  if (!device_of(dev)) return CUDA_ERROR_INVALID_DEVICE;
  int a = driver().settings.architecture;
  snprintf(out, (size_t)n, "Emulated GPU %d.%d", a / 10, a % 10);
  return CUDA_SUCCESS;
}
API cuDeviceGetUuid(CUuuid *out, CUdevice dev) {
  CALL("cuDeviceGetUuid", Call::initialised);
  if (!device_of(dev)) return CUDA_ERROR_INVALID_DEVICE;
  static const unsigned char id[16] = {0x74, 0x72, 0x6f, 0x75, 0x70, 0x65, 0x40, 0, 0x80, 0, 'e', 'm', 'u', 'l', 0, 0};
  memcpy(out->bytes, id, 16);
  out->bytes[15] = (char)dev;
  return CUDA_SUCCESS;
}
API cuDeviceTotalMem_v2(size_t *out, CUdevice dev) {
  CALL("cuDeviceTotalMem_v2", Call::initialised);
  if (!device_of(dev)) return CUDA_ERROR_INVALID_DEVICE;
  *out = driver().settings.memory;
  return CUDA_SUCCESS;
}
API cuDeviceGetAttribute(int *out, CUdevice_attribute attribute, CUdevice dev) {
  CALL("cuDeviceGetAttribute", Call::initialised);
  if (!device_of(dev)) return CUDA_ERROR_INVALID_DEVICE;
  Driver &d = driver();
  int a = d.settings.architecture;
  // Shared memory of a block with opt-in, by compute capability (CUDA C++
  // Programming Guide, table of technical specifications).
  int shared = a >= 90 ? 227 << 10 : a == 80 || a == 87 ? 163 << 10 : a >= 80 ? 99 << 10 : 64 << 10;
  int n = (int)attribute;
  switch (n) {
  case 1: case 2: case 3: *out = 1024; break;
  case 4: *out = 64; break;
  case 5: *out = 0x7fffffff; break;
  case 6: case 7: *out = 65535; break;
  case 8: *out = 48 << 10; break;
  case 9: *out = 64 << 10; break;
  case 10: *out = 32; break;
  case 12: *out = 65536; break;
  case 13: *out = 1980000; break;
  case 16: *out = d.settings.multiprocessors; break;
  case 15: case 19: case 31: case 40: case 41: case 78: *out = 1; break;
  case 33: *out = 0x1b + dev; break;
  case 36: *out = 2619000; break;
  case 37: *out = 5120; break;
  case 38: *out = 50 << 20; break;
  case 39: *out = 2048; break;
  case 75: *out = a / 10; break;
  case 76: *out = a % 10; break;
  case 81: *out = shared + 1024; break;
  case 82: *out = 65536; break;
  case 97: *out = shared; break;
  case 106: *out = 32; break;
  default:
    if (n >= 1000 && n < 1000 + kinds + 3) { // our own: the counts of control.h
      uint64_t counts[totals];
      count_all(counts);
      *out = (int)counts[n - 1000];
      return CUDA_SUCCESS;
    }
    if (n < 1 || n > 150) return CUDA_ERROR_INVALID_VALUE;
    *out = 0;
  }
  return CUDA_SUCCESS;
}
API cuDeviceCanAccessPeer(int *out, CUdevice a, CUdevice b) {
  CALL("cuDeviceCanAccessPeer", Call::initialised);
  if (!device_of(a) || !device_of(b)) return CUDA_ERROR_INVALID_DEVICE;
  *out = a != b;
  return CUDA_SUCCESS;
}

API cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev) {
  CALL("cuDevicePrimaryCtxRetain", Call::initialised);
  Device *d = device_of(dev);
  if (!d) return CUDA_ERROR_INVALID_DEVICE;
  if (CUresult r = begin(&d->primary)) return r;
  if (d->sticky) return (CUresult)d->sticky;
  d->primary.retained++;
  *out = (CUcontext)&d->primary;
  return CUDA_SUCCESS;
}
API cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  CALL("cuDevicePrimaryCtxRelease_v2", Call::initialised);
  Device *d = device_of(dev);
  if (!d) return CUDA_ERROR_INVALID_DEVICE;
  if (!d->primary.retained) return CUDA_ERROR_INVALID_CONTEXT;
  if (--d->primary.retained == 0) end(call.hold, &d->primary);
  return CUDA_SUCCESS;
}
API cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  CALL("cuDevicePrimaryCtxReset_v2", Call::initialised);
  Device *d = device_of(dev);
  if (!d) return CUDA_ERROR_INVALID_DEVICE;
  if (d->primary.alive) {
    int retained = d->primary.retained;
    end(call.hold, &d->primary);
    if (retained && !begin(&d->primary)) d->primary.retained = retained;
  }
  return CUDA_SUCCESS;
}
API cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned) {
  CALL("cuDevicePrimaryCtxSetFlags_v2", Call::initialised);
  return device_of(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
API cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active) {
  CALL("cuDevicePrimaryCtxGetState", Call::initialised);
  Device *d = device_of(dev);
  if (!d) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = d->primary.alive;
  return CUDA_SUCCESS;
}

API cuCtxSetCurrent(CUcontext c) {
  CALL("cuCtxSetCurrent", Call::initialised);
  if (c && !driver().contexts.count((void *)c)) return CUDA_ERROR_INVALID_CONTEXT;
  current = (Context *)c;
  return CUDA_SUCCESS;
}
API cuCtxGetCurrent(CUcontext *c) {
  CALL("cuCtxGetCurrent", Call::initialised);
  *c = (CUcontext)current;
  return CUDA_SUCCESS;
}
API cuCtxGetDevice(CUdevice *out) {
  CALL("cuCtxGetDevice", Call::context);
  *out = current->device->number;
  return CUDA_SUCCESS;
}
API cuCtxGetFlags(unsigned *out) {
  CALL("cuCtxGetFlags", Call::context);
  *out = 0;
  return CUDA_SUCCESS;
}
API cuCtxGetApiVersion(CUcontext, unsigned *out) {
  CALL("cuCtxGetApiVersion", Call::context);
  *out = 3020;
  return CUDA_SUCCESS;
}
API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CALL("cuCtxGetStreamPriorityRange", Call::context);
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}
API cuCtxSynchronize(void) {
  CALL("cuCtxSynchronize", Call::context);
  if (CUresult r = unsafe_while_capturing()) return r;
  settle(call.hold, current);
  std::string e = broken_zone(current, nullptr);
  if (!e.empty()) lose(*current->device, CUDA_ERROR_ILLEGAL_ADDRESS, e);
  return (CUresult)current->device->sticky;
}
API cuCtxEnablePeerAccess(CUcontext c, unsigned) {
  CALL("cuCtxEnablePeerAccess", Call::context);
  return driver().contexts.count((void *)c) && (Context *)c != current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
API cuCtxDisablePeerAccess(CUcontext c) {
  CALL("cuCtxDisablePeerAccess", Call::context);
  return driver().contexts.count((void *)c) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
