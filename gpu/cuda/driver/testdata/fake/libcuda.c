/* A libcuda.so.1 for the tests of this package: the device's memory is the host's, work is
 * done at once, kernels are named below. It counts what is open, and fails on demand.
 *
 * The environment steers it, so that tests can while it is loaded:
 *   FAKE_CUDA_FAIL      cuMemAlloc_v2=2,cuInit=100: these calls return these results
 *   FAKE_CUDA_VERSION   of the driver, FAKE_CUDA_DEVICES their number, FAKE_CUDA_CAPABILITY 90
 *
 * The device attribute 1000 + k is how many things of a kind are open, 1100 how many calls
 * got a handle that is not open. A module is text: lines "name parameters".
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cuda.h>

#define API __attribute__((visibility("default"))) CUresult
#define CALL(symbol) do { int code = demanded(#symbol); if (code) return code; } while (0)
#define BOUND(symbol) do { CALL(symbol); if (!current) return CUDA_ERROR_INVALID_CONTEXT; if (sticky) return sticky; } while (0)

enum { CONTEXT, MEMORY, PINNED, MODULE, STREAM, EVENT, GRAPH, EXEC, KINDS };
static _Atomic int open_count[KINDS], bad_handles, sticky;
static __thread CUcontext current;
static int contexts[8];

struct thing { int kind, open; };
struct kernel { char name[32]; int parameters; };
struct CUmod_st { struct thing t; int n; struct kernel kernels[16]; };
struct CUfunc_st { struct kernel k; };
struct launch { struct kernel k; uint64_t arguments[32]; };
struct CUgraph_st { struct thing t; int n; struct launch *launches; };
struct CUgraphExec_st { struct thing t; int n; struct launch *launches; };
struct CUstream_st { struct thing t; int hanging; struct CUgraph_st *capture; };
struct CUevent_st { struct thing t; int hanging; };

static int number(const char *name, int otherwise) { const char *s = getenv(name); return s && *s ? atoi(s) : otherwise; }

static int demanded(const char *symbol)
{
	const char *s = getenv("FAKE_CUDA_FAIL");
	size_t n = strlen(symbol);
	for (; s && *s; s = strchr(s, ',') ? strchr(s, ',') + 1 : "")
		if (!strncmp(s, symbol, n) && s[n] == '=')
			return atoi(s + n + 1);
	return 0;
}

/* Things are never freed, so that a closed handle can be told. */
static void *begin(int kind, size_t size)
{
	struct thing *t = calloc(1, size);
	*t = (struct thing){kind, 1};
	open_count[kind]++;
	return t;
}

static int is(void *p, int kind)
{
	struct thing *t = p;
	if (t && t->kind == kind && t->open)
		return 1;
	bad_handles++;
	return 0;
}

static CUresult end(void *p, int kind)
{
	if (!is(p, kind))
		return CUDA_ERROR_INVALID_HANDLE;
	((struct thing *)p)->open = 0;
	open_count[kind]--;
	return CUDA_SUCCESS;
}

API cuInit(unsigned flags) { CALL(cuInit); return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
API cuDriverGetVersion(int *v) { CALL(cuDriverGetVersion); *v = number("FAKE_CUDA_VERSION", 12040); return CUDA_SUCCESS; }
API cuGetErrorName(CUresult r, const char **s) { if (r == 877 || r == CUDA_ERROR_UNKNOWN) return CUDA_ERROR_INVALID_VALUE; *s = "NAME"; return CUDA_SUCCESS; }
API cuGetErrorString(CUresult r, const char **s) { if (r == 877 || r == CUDA_ERROR_UNKNOWN) return CUDA_ERROR_INVALID_VALUE; *s = "the driver's words"; return CUDA_SUCCESS; }

API cuDeviceGetCount(int *n) { CALL(cuDeviceGetCount); *n = number("FAKE_CUDA_DEVICES", 2); return CUDA_SUCCESS; }
API cuDeviceGet(CUdevice *d, int i) { CALL(cuDeviceGet); *d = i; return i < 0 || i >= number("FAKE_CUDA_DEVICES", 2) ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS; }
API cuDeviceGetName(char *s, int n, CUdevice d) { CALL(cuDeviceGetName); snprintf(s, n, "Fake %d", d); return CUDA_SUCCESS; }
API cuDeviceGetUuid(CUuuid *u, CUdevice d) { CALL(cuDeviceGetUuid); memset(u, 0x10 + d, sizeof *u); return CUDA_SUCCESS; }
API cuDeviceTotalMem_v2(size_t *n, CUdevice d) { (void)d; CALL(cuDeviceTotalMem_v2); *n = 1 << 30; return CUDA_SUCCESS; }
API cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d)
{
	(void)d;
	CALL(cuDeviceGetAttribute);
	int capability = number("FAKE_CUDA_CAPABILITY", 90);
	switch ((int)a) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = capability / 10; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = capability % 10; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 132; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 232448; break;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *v = 50 << 20; break;
	case 1100: *v = bad_handles; break;
	default: *v = a >= 1000 && a < 1000 + KINDS ? open_count[a - 1000] : 0;
	}
	return CUDA_SUCCESS;
}

API cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { CALL(cuDevicePrimaryCtxRetain); *c = (CUcontext)&contexts[d]; open_count[CONTEXT]++; return CUDA_SUCCESS; }
API cuDevicePrimaryCtxRelease_v2(CUdevice d) { (void)d; CALL(cuDevicePrimaryCtxRelease_v2); open_count[CONTEXT]--; if (!open_count[CONTEXT]) sticky = 0; return CUDA_SUCCESS; }
API cuCtxSetCurrent(CUcontext c) { if (c) CALL(cuCtxSetCurrent); current = c; return CUDA_SUCCESS; }
API cuCtxGetCurrent(CUcontext *c) { CALL(cuCtxGetCurrent); *c = current; return CUDA_SUCCESS; }
API cuCtxSynchronize(void) { BOUND(cuCtxSynchronize); return CUDA_SUCCESS; }

API cuMemGetInfo_v2(size_t *free, size_t *total) { BOUND(cuMemGetInfo_v2); *free = 3 << 28; *total = 1 << 30; return CUDA_SUCCESS; }
/* The 64 bytes before the device's memory are its handle. */
API cuMemAlloc_v2(CUdeviceptr *p, size_t n) { BOUND(cuMemAlloc_v2); char *t = begin(MEMORY, n + 64); memset(t + 64, 0xff, n); *p = (CUdeviceptr)(t + 64); return CUDA_SUCCESS; }
API cuMemFree_v2(CUdeviceptr p) { BOUND(cuMemFree_v2); return end((char *)p - 64, MEMORY); }
API cuMemHostAlloc(void **p, size_t n, unsigned flags) { (void)flags; BOUND(cuMemHostAlloc); *p = (char *)begin(PINNED, n + 64) + 64; return CUDA_SUCCESS; }
API cuMemFreeHost(void *p) { BOUND(cuMemFreeHost); return end((char *)p - 64, PINNED); }

API cuModuleLoadData(CUmodule *m, const void *image)
{
	BOUND(cuModuleLoadData);
	*m = begin(MODULE, sizeof **m);
	const char *s = image;
	for (int n; (*m)->n < 16 && sscanf(s, "%31s %d\n%n", (*m)->kernels[(*m)->n].name, &(*m)->kernels[(*m)->n].parameters, &n) == 2; s += n)
		(*m)->n++;
	return CUDA_SUCCESS;
}
API cuModuleUnload(CUmodule m) { BOUND(cuModuleUnload); return end(m, MODULE); }
API cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	BOUND(cuModuleGetFunction);
	for (int i = 0; is(m, MODULE) && i < m->n; i++)
		if (!strcmp(m->kernels[i].name, name)) {
			*f = (CUfunction)&m->kernels[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}
API cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) { (void)f; BOUND(cuFuncGetAttribute); *v = 100 + a; return CUDA_SUCCESS; }
API cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { (void)f; (void)a; BOUND(cuFuncSetAttribute); return v > 232448 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
#ifndef OLD
API cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *size)
{
	BOUND(cuFuncGetParamInfo);
	*offset = 8 * i;
	*size = !strcmp(f->k.name, "wide") ? 128 : 8;
	return i < (size_t)f->k.parameters ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
#endif

static void execute(struct launch *l, CUstream s)
{
	uint64_t *a = l->arguments, sum = 0;
	for (int i = 1; i < l->k.parameters; i++)
		sum += a[i];
	if (!strcmp(l->k.name, "sum"))
		*(uint64_t *)a[0] = sum;
	if (!strcmp(l->k.name, "fault"))
		sticky = a[0];
	if (!strcmp(l->k.name, "hang"))
		s->hanging = a[0];
}

API cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **p, void **extra)
{
	CUstream s = c->hStream;
	(void)extra;
	BOUND(cuLaunchKernelEx);
	if (!is(s, STREAM) || !c->gridDimX || !c->gridDimY || !c->gridDimZ || !c->blockDimX || c->blockDimX * c->blockDimY * c->blockDimZ > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	struct launch l = {f->k, {0}};
	for (int i = 0; i < f->k.parameters; i++)
		l.arguments[i] = *(uint64_t *)p[i];
	if (!s->capture) {
		execute(&l, s);
		return CUDA_SUCCESS;
	}
	s->capture->launches = realloc(s->capture->launches, (s->capture->n + 1) * sizeof l);
	s->capture->launches[s->capture->n++] = l;
	return CUDA_SUCCESS;
}

API cuStreamCreate(CUstream *s, unsigned flags) { BOUND(cuStreamCreate); if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE; *s = begin(STREAM, sizeof **s); return CUDA_SUCCESS; }
API cuStreamDestroy_v2(CUstream s) { BOUND(cuStreamDestroy_v2); return end(s, STREAM); }
API cuStreamQuery(CUstream s) { BOUND(cuStreamQuery); return !is(s, STREAM) ? CUDA_ERROR_INVALID_HANDLE : s->hanging ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; }
API cuStreamSynchronize(CUstream s) { BOUND(cuStreamSynchronize); return !is(s, STREAM) ? CUDA_ERROR_INVALID_HANDLE : s->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS; }
API cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags) { (void)flags; BOUND(cuStreamWaitEvent); return is(s, STREAM) && is(e, EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
API cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *h, size_t n, CUstream s) { BOUND(cuMemcpyHtoDAsync_v2); is(s, STREAM); memcpy((void *)d, h, n); return CUDA_SUCCESS; }
API cuMemcpyDtoHAsync_v2(void *h, CUdeviceptr d, size_t n, CUstream s) { BOUND(cuMemcpyDtoHAsync_v2); is(s, STREAM); memcpy(h, (void *)d, n); return CUDA_SUCCESS; }
API cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr h, size_t n, CUstream s) { BOUND(cuMemcpyDtoDAsync_v2); is(s, STREAM); memcpy((void *)d, (void *)h, n); return CUDA_SUCCESS; }
API cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s) { BOUND(cuMemsetD8Async); is(s, STREAM); memset((void *)d, v, n); return CUDA_SUCCESS; }

API cuEventCreate(CUevent *e, unsigned flags) { (void)flags; BOUND(cuEventCreate); *e = begin(EVENT, sizeof **e); return CUDA_SUCCESS; }
API cuEventDestroy_v2(CUevent e) { BOUND(cuEventDestroy_v2); return end(e, EVENT); }
API cuEventRecord(CUevent e, CUstream s) { BOUND(cuEventRecord); if (!is(e, EVENT) || !is(s, STREAM)) return CUDA_ERROR_INVALID_HANDLE; e->hanging = s->hanging; return CUDA_SUCCESS; }
API cuEventQuery(CUevent e) { CALL(cuEventQuery); return sticky ? sticky : !is(e, EVENT) ? CUDA_ERROR_INVALID_HANDLE : e->hanging ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; }
API cuEventSynchronize(CUevent e) { BOUND(cuEventSynchronize); return is(e, EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
API cuEventElapsedTime(float *ms, CUevent a, CUevent b) { BOUND(cuEventElapsedTime); *ms = 1.5f; return is(a, EVENT) && is(b, EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

API cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode) { (void)mode; BOUND(cuStreamBeginCapture_v2); if (s->capture) return CUDA_ERROR_ILLEGAL_STATE; s->capture = begin(GRAPH, sizeof *s->capture); return CUDA_SUCCESS; }
API cuStreamEndCapture(CUstream s, CUgraph *g)
{
	int code = demanded("cuStreamEndCapture");
	if (!s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	*g = s->capture;
	s->capture = NULL;
	if (code)
		end(*g, GRAPH);
	return code;
}
API cuGraphDestroy(CUgraph g) { BOUND(cuGraphDestroy); return end(g, GRAPH); }
API cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, unsigned long long flags) { (void)flags; BOUND(cuGraphInstantiateWithFlags); if (!is(g, GRAPH)) return CUDA_ERROR_INVALID_HANDLE; *e = begin(EXEC, sizeof **e); (*e)->n = g->n; (*e)->launches = g->launches; return CUDA_SUCCESS; }
API cuGraphExecDestroy(CUgraphExec e) { BOUND(cuGraphExecDestroy); return end(e, EXEC); }
API cuGraphLaunch(CUgraphExec e, CUstream s)
{
	BOUND(cuGraphLaunch);
	for (int i = 0; is(e, EXEC) && i < e->n; i++)
		execute(&e->launches[i], s);
	return CUDA_SUCCESS;
}
#ifndef OLD
API cuGraphUpload(CUgraphExec e, CUstream s) { BOUND(cuGraphUpload); return is(e, EXEC) && is(s, STREAM) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
API cuTensorMapEncodeTiled(CUtensorMap *m, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	(void)interleave, (void)promotion, (void)fill;
	CALL(cuTensorMapEncodeTiled);
	uint64_t facts[16] = {type, rank, (uint64_t)address, swizzle, (uintptr_t)m % 64};
	for (cuuint32_t i = 0; i < rank; i++)
		facts[5 + i] = sizes[i] * 1000 + box[i] + steps[i] * 100000 + (i ? strides[i - 1] * 1000000 : 0);
	memcpy(m, facts, sizeof facts);
	return CUDA_SUCCESS;
}
#endif
