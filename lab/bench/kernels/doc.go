// Package kernels measures the inner loops of the CPU device as shares of the machine's
// limits. They are products of weights and activations, attention, and kernels for single
// rows; each runs on one thread at every level of instruction set. The limits (reading
// memory, multiply-adds of float32, products of integers) are measured in alternation
// with them. Benchmarks and `troupe bench kernels` share the package.
//
// Times are the processor time of this process, so that other processes have
// little influence on the shares. No other work should run in this process.
package kernels
