//go:build cuda

#include "library.h"

#include <dlfcn.h>
#include <string.h>

typedef void (*function)(void);

extern function troupe_cuda_slots[];
extern const char troupe_cuda_names[];
extern void troupe_cuda_closed(void), troupe_cuda_absent(void);

/* Package cu calls cuInit when the process starts, and ends the process if it fails. This
 * one has nothing to do; the driver's own is called when a device is asked for. */
__attribute__((visibility("hidden"))) CUresult cuInit(unsigned flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

char *troupe_cuda_load(const char *path, void **library)
{
	*library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (*library)
		return NULL;
	const char *text = dlerror();
	return strdup(text ? text : path);
}

int troupe_cuda_start(void *library, int *version)
{
	CUresult (*init)(unsigned) = (CUresult (*)(unsigned))dlsym(library, "cuInit");
	CUresult (*ask)(int *) = (CUresult (*)(int *))dlsym(library, "cuDriverGetVersion");
	if (!init || !ask)
		return -1;
	CUresult result = init(0);
	return result == CUDA_SUCCESS ? ask(version) : result;
}

void troupe_cuda_bind(void *library)
{
	function *slot = troupe_cuda_slots;
	for (const char *name = troupe_cuda_names; *name; name += strlen(name) + 1) {
		function f = library ? (function)dlsym(library, name) : troupe_cuda_closed;
		*slot++ = f ? f : troupe_cuda_absent;
	}
}

const char *troupe_cuda_name(unsigned index)
{
	const char *name = troupe_cuda_names;
	while (*name && index--)
		name += strlen(name) + 1;
	return *name ? name : NULL;
}
