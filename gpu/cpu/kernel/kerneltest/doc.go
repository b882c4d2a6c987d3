// Package kerneltest has the shared code of the kernels' tests: random weights in
// every encoding, comparisons, and memory with guarded bounds.
package kerneltest
