// graph.cc: captures and graphs.
//
// What a capturing stream gets becomes nodes of a graph. Streams join a capture by
// waiting for an event that was recorded in it, and must lead back to the stream
// where it began. A launch queues the nodes in a random order that respects their
// edges.
#include "driver.h"

#include <algorithm>

#include <pthread.h>

namespace fake {
namespace {

uint64_t this_thread() { return (uint64_t)pthread_self(); }

// leads says whether each of the nodes comes before or is one of ends.
bool leads(const Graph &g, const std::vector<size_t> &nodes, const std::vector<size_t> &ends) {
  std::vector<bool> before(g.nodes.size());
  for (size_t e : ends) before[e] = true;
  for (size_t i = g.nodes.size(); i-- > 0;)
    if (before[i])
      for (size_t a : g.nodes[i].after) before[a] = true;
  return std::all_of(nodes.begin(), nodes.end(), [&](size_t n) { return before[n]; });
}

} // namespace

CUresult unsafe_while_capturing() {
  for (auto &o : driver().streams) {
    Stream *s = o.second.get();
    if (!s->capture || s->capture->origin != s || s->capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    if (s->capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && s->capture->thread != this_thread()) continue;
    s->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

void capture_node(Stream *s, OpRef op) {
  Graph &g = *s->capture->graph;
  g.nodes.push_back(Graph::Node{std::move(op), s->last});
  s->last = {g.nodes.size() - 1};
}

CUresult capture_wait(Stream *s, const MarkRef &m) {
  if (!m->captured) { // a capture may not depend on work outside of it
    s->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  std::shared_ptr<Capture> c = m->capture.lock();
  if (!c) return CUDA_ERROR_CAPTURED_EVENT; // that capture is over
  if (s->capture && s->capture != c) {
    c->broken = s->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!s->capture) {
    s->capture = c;
    s->last.clear();
    c->streams.insert(s);
  }
  for (size_t n : m->nodes)
    if (std::find(s->last.begin(), s->last.end(), n) == s->last.end()) s->last.push_back(n);
  return CUDA_SUCCESS;
}

void launch_graph(Stream *s, Exec &e) {
  Driver &d = driver();
  const Graph &g = e.graph;
  std::vector<size_t> missing(g.nodes.size()), can;
  std::vector<std::vector<size_t>> next(g.nodes.size());
  for (size_t i = 0; i < g.nodes.size(); i++) {
    missing[i] = g.nodes[i].after.size();
    for (size_t a : g.nodes[i].after) next[a].push_back(i);
    if (!missing[i]) can.push_back(i);
  }
  if (e.last && !e.last->done) s->queue.push_back(Entry{nullptr, e.last, nullptr});
  while (!can.empty()) {
    size_t at = can.size() == 1 ? 0 : d.random() % can.size(), i = can[at];
    can[at] = can.back();
    can.pop_back();
    add(s, g.nodes[i].op);
    for (size_t n : next[i])
      if (!--missing[n]) can.push_back(n);
  }
  e.last = mark_end(s);
}

} // namespace fake

using namespace fake;

API cuStreamBeginCapture_v2(CUstream h, CUstreamCaptureMode mode) {
  CALL("cuStreamBeginCapture_v2", Call::context);
  Stream *s = stream_of(h);
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  if ((uintptr_t)h <= 1) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if ((int)mode < 0 || (int)mode > 2) return CUDA_ERROR_INVALID_VALUE;
  if (s->capture) return CUDA_ERROR_ILLEGAL_STATE;
  s->capture = std::make_shared<Capture>();
  *s->capture = Capture{std::make_shared<Graph>(), (int)mode, s, this_thread(), false, {s}};
  s->last.clear();
  return CUDA_SUCCESS;
}
API cuStreamEndCapture(CUstream h, CUgraph *out) {
  CALL("cuStreamEndCapture", Call::context);
  Stream *s = stream_of(h);
  if (!s || !out) return CUDA_ERROR_INVALID_HANDLE;
  *out = nullptr;
  std::shared_ptr<Capture> c = s->capture;
  if (!c) return CUDA_ERROR_ILLEGAL_STATE;
  if (c->origin != s) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != this_thread()) return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  CUresult r = c->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  for (Stream *t : c->streams) {
    if (!r && t != s && !leads(*c->graph, t->last, s->last)) r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    t->capture = nullptr;
  }
  if (r) return r;
  driver().graphs[c->graph.get()] = c->graph;
  driver().counts[graphs]++;
  *out = (CUgraph)c->graph.get();
  return CUDA_SUCCESS;
}
API cuGraphDestroy(CUgraph g) {
  Call call("cuGraphDestroy", Call::initialised);
  if (call.code && !is_sticky(call.code)) return (CUresult)call.code;
  if (!driver().graphs.erase((void *)g)) return CUDA_ERROR_INVALID_VALUE;
  driver().counts[graphs]--;
  return (CUresult)call.code;
}
API cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long) {
  CALL("cuGraphInstantiateWithFlags", Call::context);
  auto i = driver().graphs.find((void *)g);
  if (i == driver().graphs.end() || !out) return CUDA_ERROR_INVALID_VALUE;
  auto e = std::make_shared<Exec>();
  e->graph = *i->second;
  driver().execs[e.get()] = e;
  driver().counts[execs]++;
  *out = (CUgraphExec)e.get();
  return CUDA_SUCCESS;
}
API cuGraphUpload(CUgraphExec e, CUstream s) {
  CALL("cuGraphUpload", Call::context);
  return driver().execs.count((void *)e) && stream_of(s) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuGraphLaunch(CUgraphExec h, CUstream sh) {
  CALL("cuGraphLaunch", Call::context);
  auto i = driver().execs.find((void *)h);
  Stream *s = stream_of(sh);
  if (i == driver().execs.end() || !s) return CUDA_ERROR_INVALID_VALUE;
  if (s->capture) {
    s->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  launch_graph(s, *i->second);
  return CUDA_SUCCESS;
}
API cuGraphExecDestroy(CUgraphExec e) {
  Call call("cuGraphExecDestroy", Call::initialised);
  if (call.code && !is_sticky(call.code)) return (CUresult)call.code;
  if (!driver().execs.erase((void *)e)) return CUDA_ERROR_INVALID_VALUE;
  driver().counts[execs]--;
  return (CUresult)call.code;
}
