// Package control steers the fake CUDA driver (testkit/cudaemu) in a process that has
// loaded it: it sets faults and limits, and counts resources. It needs cgo, and is there
// with the build tag cuda only. Whole programs are steered by the environment variable
// TROUPE_FAKE_CUDA instead; testkit/cudaemu/fakedriver/control.h has its form.
package control
