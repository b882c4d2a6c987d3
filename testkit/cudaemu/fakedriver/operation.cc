// operation.cc: what an op does: kernels, copies, fills; and the calls that add
// copies and fills.
#include "driver.h"

#include <string.h>

namespace fake {

std::string perform(const Op &op) {
  Driver &d = driver();
  switch (op.type) {
  case Op::kernel: {
    emu::Launch l{op.entry, op.grid, op.block, op.shared, nullptr, 0, false, op.early};
    {
      Lock hold(d.lock);
      const Settings &s = d.settings;
      l.seed = (s.seed << 20) + ++d.launches;
      l.early = !s.copies_set ? emu::early_by_seed(s.seed) : s.copies == Settings::mixed ? d.random() % 2 : s.copies == Settings::early;
    }
    void *args[256];
    const uint64_t *box = op.arguments.data();
    for (int i = 0; i < op.entry->parameters && i < 256; i++) {
      args[i] = (void *)box;
      box += (op.entry->sizes[i] + 7) / 8;
    }
    l.args = args;
    return emu::run(l);
  }
  case Op::copy: {
    {
      Lock hold(d.lock);
      if ((!op.to_host && !find_block(d.memory, op.to, op.bytes)) || (!op.from_host && !find_block(d.memory, op.from, op.bytes)))
        return "a copy of " + std::to_string(op.bytes) + " bytes touches device memory that was freed";
      if (op.pinned && !find_block(d.pinned, op.to_host ? op.to : op.from, op.bytes)) return "a copy touches pinned memory that was freed";
    }
    memmove((void *)op.to, op.staged.empty() ? (const void *)op.from : op.staged.data(), op.bytes);
    return "";
  }
  case Op::fill: {
    {
      Lock hold(d.lock);
      if (!find_block(d.memory, op.to, op.bytes)) return "a fill of device memory that was freed";
    }
    unsigned char *p = (unsigned char *)op.to;
    if (op.width == 1)
      memset(p, (int)op.value, op.bytes);
    else
      for (size_t i = 0; i < op.bytes; i += (size_t)op.width) memcpy(p + i, &op.value, (size_t)op.width);
    return "";
  }
  case Op::host:
    op.function(op.argument);
    return "";
  default:
    return "";
  }
}

namespace {

// copy adds a copy; waits says that the caller returns only when it is done.
CUresult copy(Lock &hold, Stream *s, uint64_t to, bool to_host, uint64_t from, bool from_host, size_t bytes, bool waits) {
  Driver &d = driver();
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  if (!bytes) return CUDA_SUCCESS;
  if (!to || !from) return CUDA_ERROR_INVALID_VALUE;
  if ((!to_host && !find_block(d.memory, to, bytes)) || (!from_host && !find_block(d.memory, from, bytes))) return CUDA_ERROR_INVALID_VALUE;
  auto op = std::make_shared<Op>();
  op->type = Op::copy;
  op->to = to;
  op->from = from;
  op->bytes = bytes;
  op->to_host = to_host;
  op->from_host = from_host;
  // Memory that is not pinned: the driver reads it before it returns, and
  // returns from a copy to it only when that is done. A capture cannot.
  if (to_host || from_host) op->pinned = find_block(d.pinned, to_host ? to : from, bytes) != nullptr;
  if ((to_host || from_host) && !op->pinned) {
    if (s->capture) {
      s->capture->broken = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (from_host) op->staged.assign((unsigned char *)from, (unsigned char *)from + bytes);
    waits |= to_host;
  }
  CUresult r = add(s, op);
  if (r || !waits) return r;
  settle(hold, mark_end(s));
  return (CUresult)s->context->device->sticky;
}

CUresult fill(Lock &hold, Stream *s, CUdeviceptr to, uint32_t value, int width, size_t count, bool waits) {
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  if (!count) return CUDA_SUCCESS;
  if (to % (unsigned)width || !find_block(driver().memory, to, count * (size_t)width)) return CUDA_ERROR_INVALID_VALUE;
  auto op = std::make_shared<Op>();
  op->type = Op::fill;
  op->to = to;
  op->bytes = count * (size_t)width;
  op->value = value;
  op->width = width;
  CUresult r = add(s, op);
  if (r || !waits) return r;
  settle(hold, mark_end(s));
  return (CUresult)s->context->device->sticky;
}

} // namespace
} // namespace fake

using namespace fake;

#define SYNCHRONOUS(name)       \
  CALL(name, Call::context);    \
  if (CUresult r = unsafe_while_capturing()) return r

API cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n) {
  SYNCHRONOUS("cuMemcpyHtoD_v2");
  return copy(call.hold, default_stream(current), to, false, (uint64_t)from, true, n, true);
}
API cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n) {
  SYNCHRONOUS("cuMemcpyDtoH_v2");
  return copy(call.hold, default_stream(current), (uint64_t)to, true, from, false, n, true);
}
API cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n) {
  SYNCHRONOUS("cuMemcpyDtoD_v2");
  return copy(call.hold, default_stream(current), to, false, from, false, n, false);
}
API cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n) {
  SYNCHRONOUS("cuMemcpy");
  Driver &d = driver();
  return copy(call.hold, default_stream(current), to, !find_block(d.memory, to, n), from, !find_block(d.memory, from, n), n, true);
}
API cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s) {
  CALL("cuMemcpyHtoDAsync_v2", Call::context);
  return copy(call.hold, stream_of(s), to, false, (uint64_t)from, true, n, false);
}
API cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s) {
  CALL("cuMemcpyDtoHAsync_v2", Call::context);
  return copy(call.hold, stream_of(s), (uint64_t)to, true, from, false, n, false);
}
API cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  CALL("cuMemcpyDtoDAsync_v2", Call::context);
  return copy(call.hold, stream_of(s), to, false, from, false, n, false);
}
API cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t n, CUstream s) {
  CALL("cuMemcpyPeerAsync", Call::context);
  return copy(call.hold, stream_of(s), to, false, from, false, n, false);
}
API cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t n) {
  SYNCHRONOUS("cuMemcpyPeer");
  return copy(call.hold, default_stream(current), to, false, from, false, n, true);
}
API cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  CALL("cuMemcpyAsync", Call::context);
  Driver &d = driver();
  return copy(call.hold, stream_of(s), to, !find_block(d.memory, to, n), from, !find_block(d.memory, from, n), n, false);
}

API cuMemsetD8_v2(CUdeviceptr to, unsigned char v, size_t n) {
  SYNCHRONOUS("cuMemsetD8_v2");
  return fill(call.hold, default_stream(current), to, v, 1, n, false);
}
API cuMemsetD16_v2(CUdeviceptr to, unsigned short v, size_t n) {
  SYNCHRONOUS("cuMemsetD16_v2");
  return fill(call.hold, default_stream(current), to, v, 2, n, false);
}
API cuMemsetD32_v2(CUdeviceptr to, unsigned v, size_t n) {
  SYNCHRONOUS("cuMemsetD32_v2");
  return fill(call.hold, default_stream(current), to, v, 4, n, false);
}
API cuMemsetD8Async(CUdeviceptr to, unsigned char v, size_t n, CUstream s) {
  CALL("cuMemsetD8Async", Call::context);
  return fill(call.hold, stream_of(s), to, v, 1, n, false);
}
API cuMemsetD16Async(CUdeviceptr to, unsigned short v, size_t n, CUstream s) {
  CALL("cuMemsetD16Async", Call::context);
  return fill(call.hold, stream_of(s), to, v, 2, n, false);
}
API cuMemsetD32Async(CUdeviceptr to, unsigned v, size_t n, CUstream s) {
  CALL("cuMemsetD32Async", Call::context);
  return fill(call.hold, stream_of(s), to, v, 4, n, false);
}
