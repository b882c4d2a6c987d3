// Package kerneltest has what the tests of the kernels share: random weights in
// every encoding, comparisons, and memory whose bounds are guarded.
package kerneltest
