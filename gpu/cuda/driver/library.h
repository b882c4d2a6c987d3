/* The driver's library: opened at run time, and called through trampolines_amd64.S. */
#ifndef TROUPE_CUDA_LIBRARY_H
#define TROUPE_CUDA_LIBRARY_H

/* A call of a function that the driver lacks returns this plus the function's index in
 * troupe_cuda_names. Results of the driver are below 1000. */
#define TROUPE_CUDA_ABSENT 900000

#ifndef __ASSEMBLER__
#include <cuda.h>

/* troupe_cuda_load opens the library in a file. It returns NULL, or what the loader says,
 * which the caller frees. */
char *troupe_cuda_load(const char *path, void **library);

/* troupe_cuda_start initialises the driver and asks for its version. It returns a result
 * of the driver, or -1 if the library has no such functions. */
int troupe_cuda_start(void *library, int *version);

/* troupe_cuda_bind fills the trampolines' slots; of NULL: closes them again, for tests. */
void troupe_cuda_bind(void *library);

/* troupe_cuda_name gives the function of an index, or NULL. */
const char *troupe_cuda_name(unsigned index);

#endif
#endif
