/* A library that is not a CUDA driver. */
int cuda_nothing;
