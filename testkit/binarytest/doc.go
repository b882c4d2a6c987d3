// Package binarytest contains only tests: of the binaries as users get them. They build
// both with make, look at what each needs of a system, and run the one with CUDA over the
// fake driver of testkit/cudaemu, with each fault that a driver can have. Those of the
// binary with CUDA take a C++ compiler and run in make test-cuda only.
package binarytest
