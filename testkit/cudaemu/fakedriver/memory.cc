// memory.cc: device and pinned memory. Both are memory of the host, filled with
// 0xff. Red zones before and after each block show overruns; with AddressSanitizer
// its own zones do, at the access itself.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace fake {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t zone = 0;
#else
constexpr size_t zone = 512;
#endif
constexpr size_t align = 256;
constexpr unsigned char zone_byte = 0xa5;

bool take(std::map<uint64_t, Block> &blocks, Context *c, size_t bytes, uint64_t &out) {
  void *p = nullptr;
  if (posix_memalign(&p, align, bytes + 2 * zone)) return false;
  Block b{c, (unsigned char *)p, (unsigned char *)p + zone, bytes};
  memset(b.base, zone_byte, zone);
  memset(b.start, 0xff, bytes);
  memset(b.start + bytes, zone_byte, zone);
  out = (uint64_t)b.start;
  blocks[out] = b;
  return true;
}

std::string broken(const Block &b) {
  for (size_t i = 0; i < zone; i++) {
    bool before = b.base[i] != zone_byte;
    if (!before && b.start[b.bytes + i] == zone_byte) continue;
    char text[200];
    if (before)
      snprintf(text, sizeof text, "something has written %zu bytes before a block of %zu bytes of device memory", zone - i, b.bytes);
    else
      snprintf(text, sizeof text, "something has written %zu bytes past the end of a block of %zu bytes of device memory", i, b.bytes);
    return text;
  }
  return "";
}

void drop(std::map<uint64_t, Block> &blocks, Context *c, Kind kind) {
  Driver &d = driver();
  for (auto i = blocks.begin(); i != blocks.end();) {
    if (i->second.context != c) {
      ++i;
      continue;
    }
    free(i->second.base);
    d.counts[kind]--;
    d.leaks++;
    i = blocks.erase(i);
  }
}

template <class M> void drop_handles(M &m, Context *c, Kind kind) {
  Driver &d = driver();
  for (auto i = m.begin(); i != m.end();) {
    if (i->second->context != c) {
      ++i;
      continue;
    }
    d.counts[kind]--;
    d.leaks++;
    i = m.erase(i);
  }
}

} // namespace

Block *find_block(std::map<uint64_t, Block> &blocks, uint64_t address, size_t bytes) {
  auto i = blocks.upper_bound(address);
  if (i == blocks.begin()) return nullptr;
  Block &b = (--i)->second;
  uint64_t at = address - (uint64_t)b.start;
  return at <= b.bytes && bytes <= b.bytes - at ? &b : nullptr;
}

std::string broken_zone(Context *c, const std::vector<uint64_t> *uses) {
  Driver &d = driver();
  if (uses) {
    for (uint64_t a : *uses)
      if (Block *b = find_block(d.memory, a, 0)) {
        std::string e = broken(*b);
        if (!e.empty()) return e;
      }
    return "";
  }
  for (auto &m : d.memory) {
    if (c && m.second.context != c) continue;
    std::string e = broken(m.second);
    if (!e.empty()) return e;
  }
  return "";
}

void free_all(Context *c) {
  Driver &d = driver();
  drop_work(c);
  drop(d.memory, c, memories);
  drop(d.pinned, c, pinned);
  for (auto &m : d.modules)
    if (m.second->context == c)
      for (auto &f : m.second->functions) d.functions.erase(f.second.get());
  drop_handles(d.modules, c, modules);
  drop_handles(d.events, c, events);
  Stream *own = d.defaults.count(c) ? d.defaults[c] : nullptr;
  for (auto i = d.streams.begin(); i != d.streams.end();) {
    Stream *s = i->second.get();
    if (s->context != c) {
      ++i;
      continue;
    }
    if (s != own && !s->closed) {
      d.counts[streams]--;
      d.leaks++;
    }
    i = d.streams.erase(i);
  }
  d.defaults.erase(c);
  c->device->used = 0;
  if (d.contexts.size() <= 1) { // graphs have no context of their own
    d.leaks += d.graphs.size() + d.execs.size();
    d.counts[graphs] = d.counts[execs] = 0;
    d.graphs.clear();
    d.execs.clear();
  }
}

} // namespace fake

using namespace fake;

API cuMemGetInfo_v2(size_t *free, size_t *total) {
  CALL("cuMemGetInfo_v2", Call::context);
  Settings &s = driver().settings;
  uint64_t used = current->device->used + s.taken;
  *free = used > s.memory ? 0 : s.memory - used;
  *total = s.memory;
  return CUDA_SUCCESS;
}
API cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
  CALL("cuMemAlloc_v2", Call::context);
  if (CUresult r = unsafe_while_capturing()) return r;
  Driver &d = driver();
  if (!bytes || !out) return CUDA_ERROR_INVALID_VALUE;
  uint64_t charged = (bytes + 511) / 512 * 512, address;
  if (d.settings.taken + current->device->used + charged > d.settings.memory) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!take(d.memory, current, bytes, address)) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = address;
  current->device->used += charged;
  d.counts[memories]++;
  return CUDA_SUCCESS;
}
// cuMemFree waits for all work of the device, as the real one does.
API cuMemFree_v2(CUdeviceptr p) {
  Call call("cuMemFree_v2", Call::context);
  Driver &d = driver();
  auto i = d.memory.find(p);
  if (call.code && (!is_sticky(call.code) || !current || i == d.memory.end())) return (CUresult)call.code;
  if (!call.code) {
    if (CUresult r = unsafe_while_capturing()) return r;
    if (!p) return CUDA_SUCCESS;
    if (i == d.memory.end()) return CUDA_ERROR_INVALID_VALUE;
    settle(call.hold, current);
    i = d.memory.find(p);
    if (i == d.memory.end()) return CUDA_ERROR_INVALID_VALUE;
    std::string e = broken(i->second);
    if (!e.empty()) {
      fprintf(stderr, "fake CUDA: cuMemFree: %s\n", e.c_str());
      lose(*current->device, CUDA_ERROR_ILLEGAL_ADDRESS, e);
    }
    call.code = current->device->sticky;
  }
  // After a sticky error the block goes all the same: nobody can use it any more.
  i->second.context->device->used -= (i->second.bytes + 511) / 512 * 512;
  free(i->second.base);
  d.memory.erase(i);
  d.counts[memories]--;
  return (CUresult)call.code;
}
API cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr p) {
  CALL("cuMemGetAddressRange_v2", Call::context);
  Block *b = find_block(driver().memory, p, 1);
  if (!b) return CUDA_ERROR_NOT_FOUND;
  if (base) *base = (CUdeviceptr)b->start;
  if (bytes) *bytes = b->bytes;
  return CUDA_SUCCESS;
}
API cuMemHostAlloc(void **out, size_t bytes, unsigned) {
  CALL("cuMemHostAlloc", Call::context);
  if (CUresult r = unsafe_while_capturing()) return r;
  Driver &d = driver();
  uint64_t address;
  if (!bytes || !out) return CUDA_ERROR_INVALID_VALUE;
  if (!take(d.pinned, current, bytes, address)) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = (void *)address;
  d.counts[pinned]++;
  return CUDA_SUCCESS;
}
API cuMemFreeHost(void *p) {
  Call call("cuMemFreeHost", Call::context);
  Driver &d = driver();
  auto i = d.pinned.find((uint64_t)p);
  if (call.code && (!is_sticky(call.code) || i == d.pinned.end())) return (CUresult)call.code;
  if (!call.code) {
    if (CUresult r = unsafe_while_capturing()) return r;
    if (i == d.pinned.end()) return CUDA_ERROR_INVALID_VALUE;
    settle(call.hold, current);
    i = d.pinned.find((uint64_t)p);
    if (i == d.pinned.end()) return CUDA_ERROR_INVALID_VALUE;
    std::string e = broken(i->second);
    if (!e.empty()) {
      fprintf(stderr, "fake CUDA: cuMemFreeHost: %s\n", e.c_str());
      lose(*current->device, CUDA_ERROR_ILLEGAL_ADDRESS, e);
    }
    call.code = current->device->sticky;
  }
  free(i->second.base);
  d.pinned.erase(i);
  d.counts[pinned]--;
  return (CUresult)call.code;
}
