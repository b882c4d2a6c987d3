// Order and lateness: copies, kernels, streams, events, graphs.
#include "device.h"

TEST(results_are_there_after_the_wait) {
  Opened d;
  const int n = 1000;
  int *in, *out;
  must(cuMemHostAlloc((void **)&in, n * 4, 0));
  must(cuMemHostAlloc((void **)&out, n * 4, 0));
  CUdeviceptr a = d.alloc(n * 4), b = d.alloc(n * 4);
  for (int i = 0; i < n; i++) in[i] = i, out[i] = -1;
  must(cuMemcpyHtoDAsync(a, in, n * 4, d.stream));
  must(d.launch(d.stream, "add", 128, {b, a, n, 5}, 8));
  must(cuMemcpyDtoHAsync(out, b, n * 4, d.stream));
  in[7] = 70; // too early for the copy: it reads late
  for (int i = 0; i < n; i++)
    if (out[i] != -1) wrong("out[%d] is there before the wait", i);
  must(cuStreamSynchronize(d.stream));
  for (int i = 0; i < n; i++)
    if (out[i] != (i == 7 ? 75 : i + 5)) wrong("out[%d] is %d", i, out[i]);
  must(cuMemFreeHost(in));
  must(cuMemFreeHost(out));
  must(cuMemFree(a));
  must(cuMemFree(b));
}

TEST(memory_that_is_not_pinned) {
  Opened d;
  int v = 3, w = 0;
  CUdeviceptr a = d.alloc(4);
  must(cuMemcpyHtoDAsync(a, &v, 4, d.stream));
  v = 4; // allowed: the driver has read it
  must(d.launch(d.stream, "thrice", 1, {a}));
  must(cuMemcpyDtoHAsync(&w, a, 4, d.stream)); // returns when it is done
  if (w != 9) wrong("%d", w);
  must(cuMemFree(a));
}

TEST(events_wait_for_what_is_before_them) {
  Opened d;
  CUevent first, second;
  must(cuEventCreate(&first, 0));
  must(cuEventCreate(&second, 0));
  returns(CUDA_SUCCESS, cuEventQuery(first)); // never recorded
  int *out;
  must(cuMemHostAlloc((void **)&out, 8, 0));
  out[0] = out[1] = 0;
  CUdeviceptr a = d.alloc(4);
  must(cuMemsetD32Async(a, 5, 1, d.stream));
  must(cuMemcpyDtoHAsync(&out[0], a, 4, d.stream));
  must(cuEventRecord(first, d.stream));
  must(d.launch(d.stream, "thrice", 1, {a}));
  must(cuMemcpyDtoHAsync(&out[1], a, 4, d.stream));
  must(cuEventRecord(second, d.stream));
  troupe_fake_set("seed=3");
  must(cuEventSynchronize(first));
  if (out[0] != 5) wrong("out[0] is %d", out[0]);
  float ms;
  CUresult r = cuEventElapsedTime(&ms, first, second);
  if (out[1] == 0 && r != CUDA_ERROR_NOT_READY) wrong("elapsed time before the end: %d", (int)r);
  int asked = 0;
  while ((r = cuEventQuery(second)) == CUDA_ERROR_NOT_READY && asked < 1000) asked++;
  must(r);
  if (out[1] != 15) wrong("out[1] is %d", out[1]);
  must(cuEventElapsedTime(&ms, first, second));
  if (ms < 0) wrong("%g ms", (double)ms);
  must(cuEventDestroy(first));
  must(cuEventDestroy(second));
  must(cuMemFreeHost(out));
  must(cuMemFree(a));
}

// Two streams change one number: with an event between them the result is
// certain, without one both orders come.
TEST(order_of_streams) {
  int seen[2][2] = {};
  for (int ordered = 0; ordered < 2; ordered++)
    for (int seed = 0; seed < 40; seed++) {
      Opened d(("seed=" + std::to_string(seed)).c_str());
      CUstream other;
      CUevent e;
      must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
      must(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
      CUdeviceptr a = d.alloc(4);
      must(cuMemsetD32Async(a, 5, 1, d.stream));
      must(cuStreamSynchronize(d.stream));
      must(d.launch(d.stream, "twice", 1, {a}));
      must(cuEventRecord(e, d.stream));
      if (ordered) must(cuStreamWaitEvent(other, e, 0));
      must(d.launch(other, "thrice", 1, {a}));
      must(cuCtxSynchronize());
      int v = d.value(a);
      if (v != 33 && v != 31) wrong("%d", v);
      seen[ordered][v == 31]++;
      must(cuEventDestroy(e));
      must(cuStreamDestroy(other));
      must(cuMemFree(a));
    }
  if (seen[1][1] || !seen[0][0] || !seen[0][1]) wrong("ordered %d and %d, not ordered %d and %d", seen[1][0], seen[1][1], seen[0][0], seen[0][1]);
}

TEST(the_default_stream_waits_for_blocking_streams) {
  for (int seed = 0; seed < 10; seed++) {
    Opened d(("seed=" + std::to_string(seed)).c_str());
    CUstream blocking;
    must(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CUdeviceptr a = d.alloc(4);
    must(cuMemsetD32Async(a, 5, 1, blocking));
    must(d.launch(nullptr, "twice", 1, {a}));
    must(d.launch(blocking, "thrice", 1, {a}));
    int v = 0;
    must(cuMemcpyDtoH(&v, a, 4)); // in the default stream
    if (v != 33) wrong("%d", v);
    must(cuStreamDestroy(blocking));
    must(cuMemFree(a));
  }
}

TEST(work_of_a_destroyed_stream_is_done) {
  Opened d;
  CUstream s;
  CUevent e;
  must(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
  must(cuEventCreate(&e, 0));
  CUdeviceptr a = d.alloc(4);
  must(cuMemsetD32Async(a, 5, 1, s));
  must(cuEventRecord(e, s));
  must(cuStreamDestroy(s));
  returns(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(s));
  must(cuEventSynchronize(e));
  if (d.value(a) != 5) wrong("%d", d.value(a));
  must(cuEventDestroy(e));
  must(cuMemFree(a));
}

TEST(eager_work_is_done_without_a_wait) {
  Opened d("work=eager");
  volatile int *out;
  must(cuMemHostAlloc((void **)&out, 4, 0));
  *out = 0;
  CUdeviceptr a = d.alloc(4);
  must(cuMemsetD32Async(a, 5, 1, d.stream));
  must(d.launch(d.stream, "twice", 1, {a}));
  must(cuMemcpyDtoHAsync((void *)out, a, 4, d.stream));
  for (int i = 0; *out != 11 && i < 2000; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (*out != 11) wrong("%d", *out);
  must(cuStreamSynchronize(d.stream));
  must(cuMemFreeHost((void *)out));
  must(cuMemFree(a));
}

static CUgraph capture(Opened &d, CUdeviceptr a, CUdeviceptr b, int *out, int n) {
  CUgraph g = nullptr;
  must(cuStreamBeginCapture(d.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  must(cuMemsetD32Async(a, 5, (size_t)n, d.stream));
  must(d.launch(d.stream, "add", 64, {b, a, (uint64_t)n, 3}, (unsigned)(n + 63) / 64));
  must(d.launch(d.stream, "thrice", 1, {b}));
  must(cuMemcpyDtoHAsync(out, b, (size_t)n * 4, d.stream));
  must(cuStreamEndCapture(d.stream, &g));
  return g;
}

TEST(graphs_equal_direct_launches) {
  Opened d;
  const int n = 100;
  int *out;
  must(cuMemHostAlloc((void **)&out, n * 4, 0));
  memset(out, 0, n * 4);
  CUdeviceptr a = d.alloc(n * 4), b = d.alloc(n * 4);
  CUgraph g = capture(d, a, b, out, n);
  must(cuStreamSynchronize(d.stream));
  if (out[1] != 0) wrong("a capture does the work");
  CUgraphExec e;
  must(cuGraphInstantiateWithFlags(&e, g, 0));
  must(cuGraphDestroy(g));
  must(cuGraphUpload(e, d.stream));
  for (int round = 0; round < 3; round++) {
    memset(out, 0, n * 4);
    must(cuMemsetD32Async(b, 0, n, d.stream));
    must(cuGraphLaunch(e, d.stream));
    must(cuStreamSynchronize(d.stream));
    for (int i = 0; i < n; i++)
      if (out[i] != (i ? 8 : 24)) wrong("round %d: out[%d] is %d", round, i, out[i]);
  }
  must(cuGraphExecDestroy(e));
  must(cuMemFreeHost(out));
  must(cuMemFree(a));
  must(cuMemFree(b));
}

// A capture over two streams: twice on the first, then thrice on the second, then
// twice again on the first.
TEST(graphs_over_two_streams) {
  for (int seed = 0; seed < 10; seed++) {
    Opened d(("seed=" + std::to_string(seed)).c_str());
    CUstream other;
    CUevent there, back;
    must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&there, 0));
    must(cuEventCreate(&back, 0));
    CUdeviceptr a = d.alloc(4);
    CUgraph g;
    CUgraphExec e;
    must(cuStreamBeginCapture(d.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    must(cuMemsetD32Async(a, 1, 1, d.stream));
    must(d.launch(d.stream, "twice", 1, {a}));
    must(cuEventRecord(there, d.stream));
    must(cuStreamWaitEvent(other, there, 0));
    must(d.launch(other, "thrice", 1, {a}));
    must(cuEventRecord(back, other));
    returns(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(back));
    must(cuStreamWaitEvent(d.stream, back, 0));
    must(d.launch(d.stream, "twice", 1, {a}));
    must(cuStreamEndCapture(d.stream, &g));
    must(cuGraphInstantiateWithFlags(&e, g, 0));
    must(cuGraphLaunch(e, d.stream));
    if (d.value(a) != 19) wrong("%d", d.value(a));
    must(cuGraphExecDestroy(e));
    must(cuGraphDestroy(g));
    must(cuEventDestroy(there));
    must(cuEventDestroy(back));
    must(cuStreamDestroy(other));
    must(cuMemFree(a));
  }
}

TEST(mistakes_in_captures) {
  Opened d;
  CUgraph g;
  CUdeviceptr a = d.alloc(4), p;
  CUevent outside, inside;
  must(cuEventCreate(&outside, 0));
  must(cuEventCreate(&inside, 0));
  must(cuEventRecord(outside, d.stream));
  auto begin = [&] { must(cuStreamBeginCapture(d.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); };
  auto end = [&](int code) { returns(code, cuStreamEndCapture(d.stream, &g)); };

  returns(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(d.stream, &g));
  begin();
  returns(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&p, 4));
  end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  returns(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(d.stream));
  end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  returns(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
  end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  returns(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(d.stream, outside, 0));
  end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  int v = 1;
  returns(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemcpyHtoDAsync(a, &v, 4, d.stream)); // not pinned
  end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  std::thread([&] { returns(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, (cuCtxSetCurrent(d.context), cuStreamEndCapture(d.stream, &g))); }).join();
  end(CUDA_SUCCESS);
  must(cuGraphDestroy(g));

  CUstream other;
  must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  begin();
  must(cuEventRecord(inside, d.stream));
  must(cuStreamWaitEvent(other, inside, 0));
  must(d.launch(other, "twice", 1, {a}));
  returns(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(other, &g));
  end(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  must(cuStreamSynchronize(other)); // it captures no more
  must(cuStreamDestroy(other));
  must(cuEventDestroy(outside));
  must(cuEventDestroy(inside));
  must(cuMemFree(a));
}
