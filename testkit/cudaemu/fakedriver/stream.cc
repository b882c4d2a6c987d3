// stream.cc: streams, events, and when their work is done.
//
// Work is done when somebody waits for it: only as much as leads to the mark that
// is waited for, and sometimes, by the seed, work of other streams before it. A
// question (cuStreamQuery, cuEventQuery) does a little work, so that asking again
// and again ends. With work=eager a thread of its own does one piece after the
// other, of a random stream.
#include "driver.h"

#include <string.h>
#include <thread>
#include <time.h>

namespace fake {

std::string perform(const Op &op); // operation.cc

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

namespace {

bool ready(const Stream *s) {
  return !s->busy && !s->queue.empty() && (!s->queue.front().waits || s->queue.front().waits->done);
}

void reached(const MarkRef &m) {
  if (!m) return;
  m->done = true;
  m->time = now();
}

const char *name_of(const Op &op) {
  switch (op.type) {
  case Op::kernel: return op.entry->name;
  case Op::copy: return "copy";
  case Op::fill: return "fill";
  case Op::host: return "host";
  default: return "";
  }
}

// step does the first entry of a stream.
void step(Lock &hold, Stream *s) {
  Driver &d = driver();
  Entry e = std::move(s->queue.front());
  s->queue.pop_front();
  Device &device = *s->context->device;
  if (e.op && !device.sticky) {
    const Op &op = *e.op;
    s->busy = true;
    s->doing = e.marks;
    if (op.type == Op::kernel) d.kernels++;
    int code = fault(hold, "run", name_of(op));
    if (code == -1) {
      s->hung = true;
      return;
    }
    std::string error;
    if (!code) {
      hold.unlock();
      error = perform(op);
      hold.lock();
      if (error.empty() && op.type == Op::kernel) {
        error = broken_zone(nullptr, &op.arguments);
        if (!error.empty()) error = std::string("kernel ") + op.entry->name + " or one before it: " + error;
      }
      if (!error.empty()) {
        fprintf(stderr, "fake CUDA: %s\n", error.c_str());
        code = CUDA_ERROR_LAUNCH_FAILED;
      }
    }
    s->busy = false;
    s->doing = nullptr;
    if (code) lose(device, code, error);
  }
  reached(e.marks);
  d.changed.notify_all();
  if (s->closed && s->queue.empty()) d.streams.erase(s); // no mark that is not done names it
}

// advance does one piece of work on the way to a stream's end, or of any stream.
// It returns false if another thread has to do something first.
bool advance(Lock &hold, Stream *s) {
  Driver &d = driver();
  if (d.random() % 4 == 0) {
    std::vector<Stream *> others;
    for (auto &o : d.streams)
      if (ready(o.second.get())) others.push_back(o.second.get());
    if (!others.empty()) {
      step(hold, others[d.random() % others.size()]);
      return true;
    }
  }
  for (int hops = 0; hops < 1000; hops++) {
    if (s->busy || s->queue.empty()) return false;
    const MarkRef &w = s->queue.front().waits;
    if (!w || w->done) {
      step(hold, s);
      return true;
    }
    s = w->stream;
  }
  return false;
}

void background() {
  Driver &d = driver();
  Lock hold(d.lock);
  for (;;) {
    std::vector<Stream *> can;
    for (auto &o : d.streams)
      if (ready(o.second.get())) can.push_back(o.second.get());
    if (can.empty())
      d.changed.wait(hold);
    else
      step(hold, can[d.random() % can.size()]);
  }
}

bool idle(const Stream *s) { return !s->busy && s->queue.empty(); }

void push(Stream *s, Entry e) {
  Driver &d = driver();
  s->queue.push_back(std::move(e));
  if (!d.settings.eager) return;
  if (!d.worker) {
    d.worker = true;
    std::thread(background).detach();
  }
  d.changed.notify_all();
}

// order makes the default stream and those that are not non-blocking wait for
// each other's earlier work.
void order(Stream *s) {
  Driver &d = driver();
  if (!s->blocking) return;
  auto own = d.defaults.find(s->context);
  Stream *main = own == d.defaults.end() ? nullptr : own->second;
  if (s != main) {
    if (main && !idle(main)) push(s, Entry{nullptr, mark_end(main), nullptr});
    return;
  }
  for (auto &o : d.streams) {
    Stream *t = o.second.get();
    if (t != s && t->context == s->context && t->blocking && !idle(t)) push(s, Entry{nullptr, mark_end(t), nullptr});
  }
}

} // namespace

Stream *default_stream(Context *c) {
  Driver &d = driver();
  Stream *&s = d.defaults[c];
  if (!s) {
    s = new Stream(c, true);
    d.streams[s].reset(s);
  }
  return s;
}

Stream *stream_of(CUstream h) {
  Driver &d = driver();
  if ((uintptr_t)h <= 1) return current ? default_stream(current) : nullptr;
  auto i = d.streams.find((void *)h);
  return i == d.streams.end() || i->second->closed ? nullptr : i->second.get();
}

MarkRef mark_end(Stream *s) {
  MarkRef m = std::make_shared<Mark>();
  m->stream = s;
  m->context = s->context;
  if (idle(s))
    reached(m);
  else
    push(s, Entry{nullptr, nullptr, m});
  return m;
}

CUresult add(Stream *s, OpRef op) {
  if (s->capture) {
    if (s->capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    capture_node(s, std::move(op));
    return CUDA_SUCCESS;
  }
  order(s);
  push(s, Entry{std::move(op), nullptr, nullptr});
  return CUDA_SUCCESS;
}

void settle(Lock &hold, const MarkRef &m) {
  Driver &d = driver();
  while (!m->done)
    if (!advance(hold, m->stream)) d.changed.wait(hold);
}

void settle(Lock &hold, Context *c) {
  Driver &d = driver();
  std::vector<MarkRef> ends;
  for (auto &o : d.streams)
    if (o.second->context == c) ends.push_back(mark_end(o.second.get()));
  while (!ends.empty()) {
    size_t i = d.random() % ends.size();
    settle(hold, ends[i]);
    ends.erase(ends.begin() + (long)i);
  }
}

// drop_work ends all work of a context without doing it: whoever waits goes on
// and finds the error.
void drop_work(Context *c) {
  Driver &d = driver();
  for (auto &o : d.streams) {
    Stream *s = o.second.get();
    if (s->context != c) continue;
    for (Entry &e : s->queue) reached(e.marks);
    s->queue.clear();
    if (s->hung) {
      s->busy = s->hung = false;
      reached(s->doing);
    }
  }
  d.changed.notify_all();
}

void wait_idle(Lock &hold, Context *c) {
  Driver &d = driver();
  d.changed.wait(hold, [&] {
    for (auto &o : d.streams)
      if (o.second->context == c && o.second->busy) return false;
    return true;
  });
}

} // namespace fake

using namespace fake;

namespace {

CUresult open_stream(CUstream *out, unsigned flags, int priority) {
  if (flags > CU_STREAM_NON_BLOCKING || !out) return CUDA_ERROR_INVALID_VALUE;
  Driver &d = driver();
  Stream *s = new Stream(current, !(flags & CU_STREAM_NON_BLOCKING));
  s->flags = flags;
  s->priority = priority;
  d.streams[s].reset(s);
  d.counts[streams]++;
  *out = (CUstream)s;
  return CUDA_SUCCESS;
}

// ask does a little work of a stream.
void ask(Lock &hold, const MarkRef &m) {
  for (uint64_t n = 1 + driver().random() % 8; n && !m->done; n--)
    if (!advance(hold, m->stream)) return;
}

Event *event_of(CUevent e) {
  auto i = driver().events.find((void *)e);
  return i == driver().events.end() ? nullptr : i->second.get();
}

// finish gives the result of a wait: errors of the work that was waited for.
CUresult finish(Context *c) {
  if (!c->device->sticky) {
    std::string e = broken_zone(c, nullptr);
    if (!e.empty()) {
      fprintf(stderr, "fake CUDA: %s\n", e.c_str());
      lose(*c->device, CUDA_ERROR_ILLEGAL_ADDRESS, e);
    }
  }
  return (CUresult)c->device->sticky;
}

// in_capture breaks the capture of a stream that is asked or waited for.
CUresult in_capture(Stream *s) {
  if (!s->capture) return CUDA_SUCCESS;
  s->capture->broken = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

} // namespace

API cuStreamCreate(CUstream *out, unsigned flags) {
  CALL("cuStreamCreate", Call::context);
  return open_stream(out, flags, 0);
}
API cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority) {
  CALL("cuStreamCreateWithPriority", Call::context);
  return open_stream(out, flags, priority < -5 ? -5 : priority > 0 ? 0 : priority);
}
// cuStreamDestroy returns at once; the work that is left is still done.
API cuStreamDestroy_v2(CUstream h) {
  Call call("cuStreamDestroy_v2", Call::context);
  Stream *s = stream_of(h);
  if (call.code && (!is_sticky(call.code) || !s)) return (CUresult)call.code;
  if (!s || (uintptr_t)h <= 1) return CUDA_ERROR_INVALID_HANDLE;
  Driver &d = driver();
  d.counts[streams]--;
  if (s->capture) s->capture->broken = true;
  s->closed = true;
  if (idle(s)) d.streams.erase(s); // otherwise after its last work
  return (CUresult)call.code;
}
API cuStreamGetPriority(CUstream h, int *out) {
  CALL("cuStreamGetPriority", Call::context);
  Stream *s = stream_of(h);
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  *out = s->priority;
  return CUDA_SUCCESS;
}
API cuStreamGetFlags(CUstream h, unsigned *out) {
  CALL("cuStreamGetFlags", Call::context);
  Stream *s = stream_of(h);
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  *out = s->flags;
  return CUDA_SUCCESS;
}
API cuStreamQuery(CUstream h) {
  CALL("cuStreamQuery", Call::context);
  Stream *s = stream_of(h);
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult r = in_capture(s)) return r;
  if (!idle(s)) {
    MarkRef m = mark_end(s);
    ask(call.hold, m);
    if (!m->done) return CUDA_ERROR_NOT_READY;
  }
  return finish(current);
}
API cuStreamSynchronize(CUstream h) {
  CALL("cuStreamSynchronize", Call::context);
  Stream *s = stream_of(h);
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult r = in_capture(s)) return r;
  order(s);
  settle(call.hold, mark_end(s));
  return finish(s->context);
}
API cuStreamWaitEvent(CUstream h, CUevent eh, unsigned flags) {
  CALL("cuStreamWaitEvent", Call::context);
  Stream *s = stream_of(h);
  Event *e = event_of(eh);
  if (!s || !e) return CUDA_ERROR_INVALID_HANDLE;
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  if (!e->mark) return CUDA_SUCCESS;
  if (e->mark->captured || s->capture) return capture_wait(s, e->mark);
  if (!e->mark->done) push(s, Entry{nullptr, e->mark, nullptr});
  return CUDA_SUCCESS;
}

API cuEventCreate(CUevent *out, unsigned flags) {
  CALL("cuEventCreate", Call::context);
  if (!out || flags > 7) return CUDA_ERROR_INVALID_VALUE;
  Event *e = new Event{current, flags, nullptr};
  driver().events[e].reset(e);
  driver().counts[events]++;
  *out = (CUevent)e;
  return CUDA_SUCCESS;
}
API cuEventDestroy_v2(CUevent h) {
  Call call("cuEventDestroy_v2", Call::context);
  Event *e = event_of(h);
  if (call.code && (!is_sticky(call.code) || !e)) return (CUresult)call.code;
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  driver().events.erase(e);
  driver().counts[events]--;
  return (CUresult)call.code;
}
API cuEventRecord(CUevent h, CUstream sh) {
  CALL("cuEventRecord", Call::context);
  Event *e = event_of(h);
  Stream *s = stream_of(sh);
  if (!s || !e || s->context != e->context) return CUDA_ERROR_INVALID_HANDLE;
  if (s->capture) {
    e->mark = std::make_shared<Mark>();
    e->mark->stream = s;
    e->mark->context = s->context;
    e->mark->captured = true;
    e->mark->capture = s->capture;
    e->mark->nodes = s->last;
    return s->capture->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  }
  order(s);
  e->mark = mark_end(s);
  return CUDA_SUCCESS;
}
API cuEventQuery(CUevent h) {
  CALL("cuEventQuery", Call::initialised);
  Event *e = event_of(h);
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  Context *c = e->context;
  if (c->device->sticky) return (CUresult)c->device->sticky;
  MarkRef m = e->mark;
  if (!m) return CUDA_SUCCESS;
  if (m->captured) return CUDA_ERROR_CAPTURED_EVENT;
  ask(call.hold, m);
  return m->done ? finish(c) : CUDA_ERROR_NOT_READY;
}
API cuEventSynchronize(CUevent h) {
  CALL("cuEventSynchronize", Call::initialised);
  Event *e = event_of(h);
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  Context *c = e->context;
  if (c->device->sticky) return (CUresult)c->device->sticky;
  MarkRef m = e->mark;
  if (!m) return CUDA_SUCCESS;
  if (m->captured) return CUDA_ERROR_CAPTURED_EVENT;
  settle(call.hold, m);
  return finish(c);
}
API cuEventElapsedTime(float *out, CUevent ah, CUevent bh) {
  CALL("cuEventElapsedTime", Call::context);
  Event *a = event_of(ah), *b = event_of(bh);
  if (!a || !b || !a->mark || !b->mark || ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_HANDLE;
  if (a->mark->captured || b->mark->captured) return CUDA_ERROR_INVALID_HANDLE;
  if (!a->mark->done || !b->mark->done) return CUDA_ERROR_NOT_READY;
  *out = (float)((b->mark->time - a->mark->time) * 1e3);
  return CUDA_SUCCESS;
}
