// Package kernels measures the inner loops of the CPU device: products of
// weights and activations, attention, and what works row by row; each at every
// level of instruction set, by one thread, as a share of the limits that are
// measured in turns with it: reading memory, multiply-adds of float32, products
// of integers. Benchmarks and `troupe bench kernels` share it.
//
// Times are this process's own processor time, so that what else runs on the
// machine changes shares little. Nothing else may run in the process.
package kernels
