/* A libcuda.so.1 whose kernels do nothing: the driver's own fake, with any image and any
 * kernel. What a step costs the host with it is our part of the cost. Device memory is
 * zeros, so every token that is sampled is 0. */
#define cuMemAlloc_v2 filled_alloc
#define cuModuleGetFunction listed_function
#define cuModuleLoadData listed_module
#define cuFuncGetParamInfo listed_parameters
#include "../driver/testdata/fake/libcuda.c"
#undef cuMemAlloc_v2
#undef cuModuleGetFunction
#undef cuModuleLoadData
#undef cuFuncGetParamInfo

API cuMemAlloc_v2(CUdeviceptr *p, size_t n) { BOUND(cuMemAlloc_v2); *p = (CUdeviceptr)((char *)begin(MEMORY, n + 64) + 64); return CUDA_SUCCESS; }
API cuModuleLoadData(CUmodule *m, const void *image) { (void)image; BOUND(cuModuleLoadData); *m = begin(MODULE, sizeof **m); return CUDA_SUCCESS; }
API cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	BOUND(cuModuleGetFunction);
	(void)m, (void)name;
	static struct kernel any = {"any", 0};
	*f = (CUfunction)&any;
	return CUDA_SUCCESS;
}
