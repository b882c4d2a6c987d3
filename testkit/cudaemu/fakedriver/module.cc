// module.cc: modules, functions, launches.
#include "driver.h"

#include <stdio.h>
#include <string.h>

namespace fake {
namespace {

Function *function_of(CUfunction f) { return driver().functions.count((void *)f) ? (Function *)f : nullptr; }

Module *module_of(CUmodule m) {
  auto i = driver().modules.find((void *)m);
  return i == driver().modules.end() ? nullptr : i->second.get();
}

CUresult load(CUmodule *out, const void *image) {
  Driver &d = driver();
  if (!out || !image) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult r = unsafe_while_capturing()) return r;
  std::unique_ptr<Module> m(new Module);
  m->context = current;
  std::string why;
  CUresult r = read_image(image, d.settings.architecture, d.settings.version, m->image, why);
  if (r) {
    fprintf(stderr, "fake CUDA: cuModuleLoadData: %s\n", why.c_str());
    return r;
  }
  *out = (CUmodule)m.get();
  d.counts[modules]++;
  d.modules[m.get()] = std::move(m);
  return CUDA_SUCCESS;
}

// mismatch says how a file's kernel differs from the emulation's, "" if it does not.
std::string mismatch(const Image::Kernel &k, const emu::Kernel &e) {
  if (!k.sizes_known) return "";
  if ((int)k.sizes.size() != e.parameters)
    return std::to_string(k.sizes.size()) + " parameters in the image, " + std::to_string(e.parameters) + " in the C++ source";
  for (int i = 0; i < e.parameters; i++)
    if (k.sizes[(size_t)i] != e.sizes[i])
      return "parameter " + std::to_string(i) + " has " + std::to_string(k.sizes[(size_t)i]) + " bytes in the image, " +
             std::to_string(e.sizes[i]) + " in the C++ source";
  return "";
}

int shared_limit() {
  int n = 0, a = driver().settings.architecture;
  n = a >= 90 ? 227 << 10 : a == 80 || a == 87 ? 163 << 10 : a >= 80 ? 99 << 10 : 64 << 10;
  return n;
}

int threads_limit(const Function &f) {
  unsigned bound = emu::threads_of(f.kernel->name);
  return f.image.max_threads ? f.image.max_threads : bound ? (int)bound : 1024;
}

} // namespace
} // namespace fake

using namespace fake;

API cuModuleLoadData(CUmodule *out, const void *image) {
  CALL("cuModuleLoadData", Call::context);
  return load(out, image);
}
API cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned, CUjit_option *, void **) {
  CALL("cuModuleLoadDataEx", Call::context);
  return load(out, image);
}
API cuModuleLoadFatBinary(CUmodule *out, const void *image) {
  CALL("cuModuleLoadFatBinary", Call::context);
  return load(out, image);
}
API cuModuleUnload(CUmodule h) {
  Call call("cuModuleUnload", Call::context);
  Module *m = module_of(h);
  if (call.code && (!is_sticky(call.code) || !m)) return (CUresult)call.code;
  if (!m) return CUDA_ERROR_INVALID_HANDLE;
  Driver &d = driver();
  for (auto &f : m->functions) d.functions.erase(f.second.get());
  d.modules.erase(m);
  d.counts[modules]--;
  return (CUresult)call.code;
}
API cuModuleGetFunction(CUfunction *out, CUmodule h, const char *name) {
  CALL("cuModuleGetFunction", Call::context);
  Module *m = module_of(h);
  if (!m) return CUDA_ERROR_INVALID_HANDLE;
  if (!name || !out) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<Function> &f = m->functions[name];
  if (!f) {
    const Image::Kernel *k = nullptr;
    for (const Image::Kernel &i : m->image.kernels)
      if (i.name == name) k = &i;
    const emu::Kernel *e = emu::find(name);
    if (!e || (!k && !m->image.any)) {
      if (k) fprintf(stderr, "fake CUDA: kernel %s is in the image, but not in the emulation\n", name);
      m->functions.erase(name);
      return CUDA_ERROR_NOT_FOUND;
    }
    if (k) {
      std::string why = mismatch(*k, *e);
      if (!why.empty()) {
        fprintf(stderr, "fake CUDA: kernel %s: %s; build the kernels again\n", name, why.c_str());
        m->functions.erase(name);
        return CUDA_ERROR_INVALID_PTX;
      }
    }
    f.reset(new Function{e, k ? *k : Image::Kernel{}, m->image.architecture, plain_shared - (k ? k->shared : 0), m->context});
    driver().functions.insert(f.get());
  }
  *out = (CUfunction)f.get();
  return CUDA_SUCCESS;
}
API cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *) {
  CALL("cuModuleGetGlobal_v2", Call::context);
  return CUDA_ERROR_NOT_FOUND; // kernels have no variables of their own
}

API cuFuncGetAttribute(int *out, CUfunction_attribute a, CUfunction h) {
  CALL("cuFuncGetAttribute", Call::context);
  Function *f = function_of(h);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  switch (a) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *out = threads_limit(*f); break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *out = f->image.shared; break;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *out = f->image.local; break;
  case CU_FUNC_ATTRIBUTE_NUM_REGS: *out = f->image.registers; break;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *out = f->architecture; break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *out = f->dynamic_limit; break;
  default: *out = 0;
  }
  return CUDA_SUCCESS;
}
API cuFuncSetAttribute(CUfunction h, CUfunction_attribute a, int v) {
  CALL("cuFuncSetAttribute", Call::context);
  Function *f = function_of(h);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (a != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
  if (v < 0 || v > shared_limit() - f->image.shared) return CUDA_ERROR_INVALID_VALUE;
  f->dynamic_limit = v;
  return CUDA_SUCCESS;
}
API cuFuncSetCacheConfig(CUfunction h, CUfunc_cache) {
  CALL("cuFuncSetCacheConfig", Call::context);
  return function_of(h) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
API cuFuncGetParamInfo(CUfunction h, size_t i, size_t *offset, size_t *bytes) {
  CALL("cuFuncGetParamInfo", Call::context);
  Function *f = function_of(h);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (driver().settings.version < 12040) return CUDA_ERROR_NOT_SUPPORTED;
  if (i >= (size_t)f->kernel->parameters) return CUDA_ERROR_INVALID_VALUE;
  size_t at = 0;
  for (size_t k = 0; k <= i; k++) {
    size_t n = (size_t)f->kernel->sizes[k], unit = n > 8 ? 8 : n;
    at = (at + unit - 1) / unit * unit;
    if (k < i) at += n;
  }
  if (offset) *offset = at;
  if (bytes) *bytes = (size_t)f->kernel->sizes[i];
  return CUDA_SUCCESS;
}
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CUfunction h, int threads, size_t dynamic) {
  CALL("cuOccupancyMaxActiveBlocksPerMultiprocessor", Call::context);
  Function *f = function_of(h);
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (threads < 1) return CUDA_ERROR_INVALID_VALUE;
  size_t shared = dynamic + (size_t)f->image.shared + 1024;
  int by_threads = 2048 / threads, by_shared = (int)((size_t)shared_limit() / shared);
  *out = by_threads < by_shared ? by_threads : by_shared;
  return CUDA_SUCCESS;
}

namespace {

CUresult launch(CUfunction h, const CUlaunchConfig &c, void **parameters, void **extra) {
  Function *f = function_of(h);
  Stream *s = stream_of(c.hStream);
  if (!f || !s || f->context != s->context || s->context != current) return CUDA_ERROR_INVALID_HANDLE;
  unsigned gx = c.gridDimX, gy = c.gridDimY, gz = c.gridDimZ, bx = c.blockDimX, by = c.blockDimY, bz = c.blockDimZ;
  bool early = false;
  for (unsigned i = 0; i < c.numAttrs; i++) {
    if (c.attrs[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) return CUDA_ERROR_INVALID_VALUE;
    early |= c.attrs[i].value.programmaticStreamSerializationAllowed != 0;
  }
  if (early && emu::architecture < 90) return CUDA_ERROR_NOT_SUPPORTED;
  uint64_t threads = (uint64_t)bx * by * bz;
  if (!gx || !gy || !gz || !threads || gx > 0x7fffffff || gy > 65535 || gz > 65535 || bz > 64 || threads > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  if (threads > (uint64_t)threads_limit(*f)) return CUDA_ERROR_INVALID_VALUE;
  if (c.sharedMemBytes > (unsigned)f->dynamic_limit) return CUDA_ERROR_INVALID_VALUE;
  auto op = std::make_shared<Op>();
  op->type = Op::kernel;
  op->entry = f->kernel;
  op->grid = {gx, gy, gz};
  op->block = {bx, by, bz};
  op->shared = c.sharedMemBytes;
  op->early = early;
  int n = f->kernel->parameters;
  const unsigned char *buffer = nullptr;
  if (!parameters && extra) // pairs of a name and a value, ended by null: 1 is a buffer with all parameters
    for (void **e = extra; *e; e += 2)
      if ((uintptr_t)*e == 1) buffer = (const unsigned char *)e[1];
  if (n && !parameters && !buffer) return CUDA_ERROR_INVALID_VALUE;
  size_t at = 0;
  for (int i = 0; i < n; i++) {
    size_t bytes = (size_t)f->kernel->sizes[i], unit = bytes > 8 ? 8 : bytes, box = op->arguments.size();
    op->arguments.resize(box + (bytes + 7) / 8);
    at = (at + unit - 1) / unit * unit;
    memcpy(&op->arguments[box], buffer ? buffer + at : parameters[i], bytes);
    at += bytes;
  }
  return add(s, op);
}

} // namespace

API cuLaunchKernel(CUfunction h, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, CUstream s, void **parameters, void **extra) {
  CALL("cuLaunchKernel", Call::context);
  return launch(h, {gx, gy, gz, bx, by, bz, shared, s, nullptr, 0}, parameters, extra);
}
API cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction h, void **parameters, void **extra) {
  CALL("cuLaunchKernelEx", Call::context);
  return launch(h, *c, parameters, extra);
}
