// device.h: a context of the fake driver for a test.
#pragma once

#include "../test.h"

#define _Alignas alignas
extern "C" {
#include "cuda.h"
}
#undef _Alignas
#include "control.h"

#include <string.h>

#include <map>
#include <thread>

// must notes a failure if a call fails.
#define must(call)                                                                        \
  do {                                                                                    \
    CUresult code_ = (call);                                                              \
    if (code_) wrong("%s:%d: %s: %d", strrchr(__FILE__, '/') + 1, __LINE__, #call, (int)code_); \
  } while (0)
// returns notes a failure unless a call returns a code.
#define returns(want, call)                                                                                            \
  do {                                                                                                                 \
    CUresult code_ = (call);                                                                                           \
    if ((int)code_ != (int)(want)) wrong("%s:%d: %s: %d instead of %d", strrchr(__FILE__, '/') + 1, __LINE__, #call, (int)code_, (int)(want)); \
  } while (0)

inline std::map<std::string, uint64_t> counts() {
  uint64_t n[16];
  int k = troupe_fake_counts(n, 16);
  std::map<std::string, uint64_t> out;
  const char *names = troupe_fake_count_names();
  for (int i = 0; i < k; i++) {
    const char *end = strchr(names, ' ');
    out[end ? std::string(names, end) : std::string(names)] = n[i];
    names = end ? end + 1 : names;
  }
  return out;
}
inline uint64_t open_things() {
  auto c = counts();
  return c["contexts"] + c["modules"] + c["memories"] + c["pinned"] + c["streams"] + c["events"] + c["graphs"] + c["execs"];
}

// Opened is a device that was opened with settings of its own.
struct Opened {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUstream stream = nullptr;

  explicit Opened(const char *settings = "") {
    const char *defaults = "off;version=12040;devices=1;arch=9.0;memory=256MiB;taken=0;seed=1;workers=2;copies=late;work=late";
    if (const char *e = troupe_fake_set(defaults)) wrong("%s", e);
    if (const char *e = troupe_fake_set(settings)) wrong("%s", e);
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&module, "// emulation"));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  ~Opened() { // whatever happened, the device is new afterwards
    troupe_fake_set("off");
    cuStreamDestroy(stream);
    cuModuleUnload(module);
    cuCtxSetCurrent(nullptr);
    must(cuDevicePrimaryCtxRelease(0));
  }

  CUfunction function(const char *name) {
    CUfunction f = nullptr;
    must(cuModuleGetFunction(&f, module, name));
    return f;
  }
  CUdeviceptr alloc(size_t bytes) {
    CUdeviceptr p = 0;
    must(cuMemAlloc(&p, bytes));
    return p;
  }
  // launch starts one block with each argument in 8 bytes.
  CUresult launch(CUstream s, const char *name, unsigned threads, std::vector<uint64_t> args, unsigned grid = 1, unsigned shared = 0) {
    std::vector<void *> p;
    args.resize(args.size() + 1);
    for (auto &a : args) p.push_back(&a);
    CUfunction f;
    if (CUresult r = cuModuleGetFunction(&f, module, name)) return r;
    return cuLaunchKernel(f, grid, 1, 1, threads, 1, 1, shared, s, p.data(), nullptr);
  }
  int value(CUdeviceptr p) {
    int v = -12345;
    cuStreamSynchronize(stream);
    must(cuMemcpyDtoH(&v, p, 4));
    return v;
  }
};
