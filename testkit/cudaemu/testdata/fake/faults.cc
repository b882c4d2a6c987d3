// Resources, limits, and failures on demand.
#include "device.h"

#include <atomic>

TEST(two_hundred_times_open_and_close) {
  for (int i = 0; i < 200; i++) {
    Opened d;
    CUdeviceptr a = d.alloc(1000);
    int *host;
    CUevent e;
    CUgraph g;
    CUgraphExec x;
    must(cuMemHostAlloc((void **)&host, 64, 0));
    must(cuEventCreate(&e, 0));
    must(cuStreamBeginCapture(d.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(d.launch(d.stream, "twice", 1, {a}));
    must(cuStreamEndCapture(d.stream, &g));
    must(cuGraphInstantiateWithFlags(&x, g, 0));
    if (open_things() != 8) wrong("%d things are open", (int)open_things());
    must(cuGraphLaunch(x, d.stream));
    must(cuGraphExecDestroy(x));
    must(cuGraphDestroy(g));
    must(cuEventDestroy(e));
    must(cuMemFreeHost(host));
    must(cuMemFree(a));
  }
  auto c = counts();
  if (open_things() || c["leaks"] || c["bytes"]) wrong("%d things are left, %d leaks, %d bytes", (int)open_things(), (int)c["leaks"], (int)c["bytes"]);
}

TEST(leaks_are_counted) {
  uint64_t before = counts()["leaks"];
  {
    Opened d;
    d.alloc(10);
    void *host;
    CUevent e;
    must(cuMemHostAlloc(&host, 64, 0));
    must(cuEventCreate(&e, 0));
  }
  if (counts()["leaks"] - before != 3) wrong("%d leaks", (int)(counts()["leaks"] - before));
  if (open_things()) wrong("%d things are left", (int)open_things());
}

TEST(memory_is_limited) {
  Opened d("memory=1MiB;taken=256KiB");
  size_t free, total;
  must(cuMemGetInfo(&free, &total));
  if (free != 768 << 10 || total != 1 << 20) wrong("%zu of %zu", free, total);
  CUdeviceptr a = d.alloc(512 << 10), b;
  returns(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&b, (256 << 10) + 1));
  must(cuMemAlloc(&b, 256 << 10));
  must(cuMemGetInfo(&free, &total));
  if (free) wrong("%zu are free", free);
  must(cuMemFree(a));
  must(cuMemFree(b));
  returns(CUDA_ERROR_INVALID_VALUE, cuMemFree(b));
  returns(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&b, 0));
  must(cuMemGetInfo(&free, &total));
  if (free != 768 << 10) wrong("%zu are free", free);
}

TEST(memory_begins_as_nan) {
  Opened d;
  CUdeviceptr a = d.alloc(4);
  if (d.value(a) != -1) wrong("%x", (unsigned)d.value(a));
  if (a % 256) wrong("address %llx", a);
  must(cuMemFree(a));
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(overruns_of_device_memory) {
  for (int64_t at : {100, 611, -1, -512}) {
    Opened d;
    CUdeviceptr a = d.alloc(100);
    must(d.launch(d.stream, "write_at", 1, {a, (uint64_t)at}));
    returns(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(d.stream));
    expect_error(troupe_fake_error(), {"write_at", at < 0 ? "before a block of 100 bytes" : "past the end of a block of 100 bytes"});
  }
  // Written by the host through a wrong address: found at the next wait.
  Opened d;
  CUdeviceptr a = d.alloc(100);
  ((char *)a)[100] = 1;
  expect_error(troupe_fake_check() ? troupe_fake_check() : "", {"past the end of a block of 100 bytes"});
  returns(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  returns(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree(a));
}
#endif

TEST(launches_that_may_begin_early) {
  auto launch = [](Opened &d, const char *name, CUdeviceptr p) {
    CUlaunchAttribute early = {};
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, d.stream, &early, 1};
    void *arguments[] = {&p};
    return cuLaunchKernelEx(&config, d.function(name), arguments, nullptr);
  };
  Opened d;
  CUdeviceptr p = d.alloc(4);
  if (emu::architecture < 90) {
    returns(CUDA_ERROR_NOT_SUPPORTED, launch(d, "patient", p));
    return;
  }
  must(launch(d, "patient", p));
  if (d.value(p) != 7) wrong("%d", d.value(p));
  must(launch(d, "twice", p));
  returns(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(d.stream));
  expect_error(troupe_fake_error(), {"twice", "without wait_for_previous()"});
}

TEST(ranges_of_copies) {
  Opened d;
  CUdeviceptr a = d.alloc(100), b = d.alloc(100);
  char host[200] = {};
  returns(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a, host, 101));
  returns(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a + 50, host, 51));
  returns(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host, a - 1, 10));
  returns(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoDAsync(a, b + 100, 1, d.stream));
  returns(CUDA_ERROR_INVALID_VALUE, cuMemsetD32Async(a + 2, 0, 4, d.stream));
  returns(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(a, 0, 101, d.stream));
  must(cuMemsetD16Async(a, 0x1234, 50, d.stream));
  must(cuMemcpyDtoDAsync(b, a, 100, d.stream));
  must(cuMemcpyDtoHAsync(host, b, 100, d.stream));
  if (host[98] != 0x34 || host[99] != 0x12) wrong("%x %x", host[98], host[99]);
  must(cuMemFree(a));
  must(cuMemFree(b));
}

// Each call of the API that this test knows fails once, with the next one fine.
TEST(every_call_fails_on_demand) {
  struct Calls {
    const char *name;
    CUresult (*call)(Opened &, CUdeviceptr);
  };
  static CUevent event;
  static CUgraph graph;
  static CUgraphExec exec;
  const Calls calls[] = {
      {"cuInit", [](Opened &, CUdeviceptr) { return cuInit(0); }},
      {"cuDriverGetVersion", [](Opened &, CUdeviceptr) { int v; return cuDriverGetVersion(&v); }},
      {"cuDeviceGetCount", [](Opened &, CUdeviceptr) { int v; return cuDeviceGetCount(&v); }},
      {"cuDeviceGet", [](Opened &, CUdeviceptr) { CUdevice v; return cuDeviceGet(&v, 0); }},
      {"cuDeviceGetName", [](Opened &, CUdeviceptr) { char v[64]; return cuDeviceGetName(v, 64, 0); }},
      {"cuDeviceGetUuid", [](Opened &, CUdeviceptr) { CUuuid v; return cuDeviceGetUuid(&v, 0); }},
      {"cuDeviceTotalMem_v2", [](Opened &, CUdeviceptr) { size_t v; return cuDeviceTotalMem(&v, 0); }},
      {"cuDeviceGetAttribute", [](Opened &, CUdeviceptr) { int v; return cuDeviceGetAttribute(&v, (CUdevice_attribute)16, 0); }},
      {"cuDevicePrimaryCtxRetain", [](Opened &, CUdeviceptr) { CUcontext v; CUresult r = cuDevicePrimaryCtxRetain(&v, 0); if (!r) cuDevicePrimaryCtxRelease(0); return r; }},
      {"cuCtxSetCurrent", [](Opened &d, CUdeviceptr) { return cuCtxSetCurrent(d.context); }},
      {"cuCtxGetCurrent", [](Opened &, CUdeviceptr) { CUcontext v; return cuCtxGetCurrent(&v); }},
      {"cuCtxSynchronize", [](Opened &, CUdeviceptr) { return cuCtxSynchronize(); }},
      {"cuMemGetInfo", [](Opened &, CUdeviceptr) { size_t v, w; return cuMemGetInfo(&v, &w); }},
      {"cuMemAlloc_v2", [](Opened &, CUdeviceptr) { CUdeviceptr v; CUresult r = cuMemAlloc(&v, 8); if (!r) cuMemFree(v); return r; }},
      {"cuMemFree", [](Opened &, CUdeviceptr) { return cuMemFree(0); }},
      {"cuMemHostAlloc", [](Opened &, CUdeviceptr) { void *v; CUresult r = cuMemHostAlloc(&v, 8, 0); if (!r) cuMemFreeHost(v); return r; }},
      {"cuMemcpyHtoD", [](Opened &, CUdeviceptr p) { int v = 0; return cuMemcpyHtoD(p, &v, 4); }},
      {"cuMemcpyDtoH", [](Opened &, CUdeviceptr p) { int v = 0; return cuMemcpyDtoH(&v, p, 4); }},
      {"cuMemcpyHtoDAsync", [](Opened &d, CUdeviceptr p) { int v = 0; return cuMemcpyHtoDAsync(p, &v, 4, d.stream); }},
      {"cuMemcpyDtoHAsync", [](Opened &d, CUdeviceptr p) { int v = 0; return cuMemcpyDtoHAsync(&v, p, 4, d.stream); }},
      {"cuMemcpyDtoDAsync", [](Opened &d, CUdeviceptr p) { return cuMemcpyDtoDAsync(p, p + 4, 4, d.stream); }},
      {"cuMemsetD8Async", [](Opened &d, CUdeviceptr p) { return cuMemsetD8Async(p, 0, 4, d.stream); }},
      {"cuStreamCreate", [](Opened &, CUdeviceptr) { CUstream v; CUresult r = cuStreamCreate(&v, 1); if (!r) cuStreamDestroy(v); return r; }},
      {"cuStreamQuery", [](Opened &d, CUdeviceptr) { cuStreamSynchronize(d.stream); return cuStreamQuery(d.stream); }},
      {"cuStreamSynchronize", [](Opened &d, CUdeviceptr) { return cuStreamSynchronize(d.stream); }},
      {"cuStreamWaitEvent", [](Opened &d, CUdeviceptr) { return cuStreamWaitEvent(d.stream, event, 0); }},
      {"cuEventCreate", [](Opened &, CUdeviceptr) { CUevent v; CUresult r = cuEventCreate(&v, 0); if (!r) cuEventDestroy(v); return r; }},
      {"cuEventRecord", [](Opened &d, CUdeviceptr) { return cuEventRecord(event, d.stream); }},
      {"cuEventSynchronize", [](Opened &, CUdeviceptr) { return cuEventSynchronize(event); }},
      {"cuEventQuery", [](Opened &, CUdeviceptr) { cuEventSynchronize(event); return cuEventQuery(event); }},
      {"cuModuleLoadData", [](Opened &, CUdeviceptr) { CUmodule v; CUresult r = cuModuleLoadData(&v, "// emulation"); if (!r) cuModuleUnload(v); return r; }},
      {"cuModuleGetFunction", [](Opened &d, CUdeviceptr) { CUfunction v; return cuModuleGetFunction(&v, d.module, "add"); }},
      {"cuFuncGetAttribute", [](Opened &d, CUdeviceptr) { int v; return cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, d.function("add")); }},
      {"cuFuncSetAttribute", [](Opened &d, CUdeviceptr) { return cuFuncSetAttribute(d.function("add"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100); }},
      {"cuLaunchKernel", [](Opened &d, CUdeviceptr p) { return d.launch(d.stream, "twice", 1, {p}); }},
      {"cuStreamBeginCapture", [](Opened &d, CUdeviceptr) { CUgraph v; CUresult r = cuStreamBeginCapture(d.stream, CU_STREAM_CAPTURE_MODE_RELAXED); if (!r) { cuStreamEndCapture(d.stream, &v); cuGraphDestroy(v); } return r; }},
      {"cuGraphInstantiateWithFlags", [](Opened &, CUdeviceptr) { CUgraphExec v; CUresult r = cuGraphInstantiateWithFlags(&v, graph, 0); if (!r) cuGraphExecDestroy(v); return r; }},
      {"cuGraphLaunch", [](Opened &d, CUdeviceptr) { return cuGraphLaunch(exec, d.stream); }},
  };
  Opened d;
  CUdeviceptr p = d.alloc(8);
  must(cuEventCreate(&event, 0));
  must(cuStreamBeginCapture(d.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  must(cuStreamEndCapture(d.stream, &graph));
  must(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (auto &c : calls) {
    CUresult r = c.call(d, p);
    if (r) wrong("%s: %d", c.name, (int)r);
    troupe_fake_fail(c.name, 1, 801);
    r = c.call(d, p);
    if (r != 801) wrong("%s: %d instead of 801", c.name, (int)r);
    r = c.call(d, p);
    if (r) wrong("%s after its failure: %d", c.name, (int)r);
    troupe_fake_set("off");
  }
  must(cuGraphExecDestroy(exec));
  must(cuGraphDestroy(graph));
  must(cuEventDestroy(event));
  must(cuMemFree(p));
}

TEST(numbers_of_faults) {
  Opened d;
  CUdeviceptr p;
  auto sequence = [&](const char *text) {
    std::string s;
    troupe_fake_set("off");
    if (const char *e = troupe_fake_set(text)) wrong("%s", e);
    for (int i = 0; i < 5; i++) {
      CUresult r = cuMemAlloc(&p, 8);
      s += r ? '2' : '0';
      if (!r) must(cuMemFree(p));
    }
    return s;
  };
  const struct {
    const char *text, *want;
  } cases[] = {{"cuMemAlloc_v2:3=2", "00200"}, {"cuMemAlloc:3=2", "00200"}, {"cuMemAlloc:4+=2", "00022"}, {"cuMemAlloc=2", "22222"}, {"cuMemAlloc:*=2", "22222"}, {"cuMemAlloc:1=2;cuMemAlloc:5=2", "20002"}};
  for (auto &c : cases)
    if (sequence(c.text) != c.want) wrong("%s: %s", c.text, sequence(c.text).c_str());
  for (const char *bad : {"nonsense", "cuMemAlloc:x=2", "cuMemAlloc:0=2", "arch=9", "memory=5MB", "devices=9", "run=5", "copies=never", "hang=5", "version=new"})
    if (!troupe_fake_set(bad)) wrong("%s is accepted", bad);
    else
      expect_error(troupe_fake_set(bad), {"TROUPE_FAKE_CUDA", bad});
  troupe_fake_set("off");
}

TEST(sticky_errors_stay) {
  const struct {
    const char *settings, *kernel;
    int code;
  } cases[] = {{"", "broken", 719}, {"run:twice:1=700", "twice", 700}, {"run:*:1=716", "twice", 716}, {"lost=1", "twice", 999}, {"cuEventRecord:1=214", "twice", 214}};
  for (auto &c : cases) {
    Opened d(c.settings);
    CUdeviceptr p = d.alloc(8), q;
    CUevent e;
    void *host;
    must(cuEventCreate(&e, 0));
    must(cuMemHostAlloc(&host, 8, 0));
    must(d.launch(d.stream, c.kernel, 32, {p}));
    cuEventRecord(e, d.stream);
    returns(c.code, cuEventSynchronize(e));
    returns(c.code, cuStreamSynchronize(d.stream));
    returns(c.code, cuEventQuery(e));
    returns(c.code, cuMemAlloc(&q, 8));
    returns(c.code, d.launch(d.stream, "twice", 1, {p}));
    const char *text;
    must(cuGetErrorString((CUresult)c.code, &text));
    if (c.code == 719) expect_error(text, {"unspecified launch failure", "kernel broken", "deadlock"});
    returns(c.code, cuMemFree(p)); // but they are gone
    returns(c.code, cuMemFreeHost(host));
    returns(c.code, cuEventDestroy(e));
    cuModuleUnload(d.module);
    cuStreamDestroy(d.stream);
    if (open_things() != 1) wrong("%s: %d things are open", c.kernel, (int)open_things());
    CUcontext again;
    if (c.code == 999) {
      must(cuDevicePrimaryCtxRelease(0));
      returns(999, cuDevicePrimaryCtxRetain(&again, 0));
      troupe_fake_set("found");
      must(cuDevicePrimaryCtxRetain(&again, 0));
    }
  }
  Opened d; // a new context works
  CUdeviceptr p = d.alloc(4);
  must(cuMemsetD32Async(p, 1, 1, d.stream));
  if (d.value(p) != 1) wrong("%d", d.value(p));
  must(cuMemFree(p));
}

TEST(launches_that_never_end) {
  Opened d("hang=run:twice:2");
  CUdeviceptr p = d.alloc(4);
  CUevent first, e;
  must(cuEventCreate(&first, 0));
  must(cuEventCreate(&e, 0));
  must(d.launch(d.stream, "twice", 1, {p}));
  must(cuEventRecord(first, d.stream));
  must(d.launch(d.stream, "twice", 1, {p}));
  must(cuEventRecord(e, d.stream));
  must(cuEventSynchronize(first));
  for (int i = 0; i < 1000; i++) returns(CUDA_ERROR_NOT_READY, cuEventQuery(e));
  CUresult waited = CUDA_SUCCESS;
  std::thread waits([&] { waited = cuEventSynchronize(e); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CUstream other; // the rest of the driver still answers
  must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  must(cuMemsetD32Async(p, 7, 1, other));
  must(cuStreamSynchronize(other));
  must(cuStreamDestroy(other));
  troupe_fake_fail("cuStreamQuery", 1, 719); // a watchdog of the driver ends it
  returns(719, cuStreamQuery(d.stream));
  waits.join();
  returns(719, waited);
  cuEventDestroy(first);
  cuEventDestroy(e);
  cuMemFree(p);
}

TEST(calls_that_never_return) {
  Opened d("hang=cuStreamSynchronize");
  static std::atomic<bool> begun, returned; // the thread lives until the end, d does not
  std::thread([context = d.context, stream = d.stream] {
    cuCtxSetCurrent(context);
    begun = true;
    cuStreamSynchronize(stream);
    returned = true;
  }).detach();
  while (!begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  must(cuStreamQuery(d.stream));
  if (returned) wrong("it returned");
}

TEST(devices_and_drivers) {
  troupe_fake_set("off;version=11080;devices=0;arch=7.5");
  int v;
  must(cuDriverGetVersion(&v));
  if (v != 11080) wrong("version %d", v);
  returns(CUDA_ERROR_NO_DEVICE, cuInit(0));
  {
    Opened d("arch=8.6;devices=3;multiprocessors=132");
    CUdevice third, fourth;
    must(cuDeviceGet(&third, 2));
    returns(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&fourth, 3));
    const int want[][2] = {{75, 8}, {76, 6}, {16, 132}, {97, 99 << 10}, {1, 1024}, {10, 32}};
    for (auto &w : want) {
      must(cuDeviceGetAttribute(&v, (CUdevice_attribute)w[0], 2));
      if (v != w[1]) wrong("attribute %d is %d", w[0], v);
    }
    char name[64];
    must(cuDeviceGetName(name, 64, 0));
    if (strcmp(name, "Emulated GPU 8.6")) wrong("%s", name);
    CUuuid a, b;
    must(cuDeviceGetUuid(&a, 0));
    must(cuDeviceGetUuid(&b, 1));
    if (!memcmp(&a, &b, 16)) wrong("two devices have one UUID");
    must(cuDeviceGetAttribute(&v, (CUdevice_attribute)1000, 0));
    if (v != 1) wrong("%d contexts by the attribute", v);
  }
  Opened d;
  must(cuDeviceGetAttribute(&v, (CUdevice_attribute)97, 0));
  if (v != 232448) wrong("attribute 97 is %d", v);
  CUdeviceptr p;
  std::thread([&] { returns(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&p, 8)); }).join(); // no context there
}
