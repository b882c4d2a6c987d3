// Package cuda is the device for NVIDIA GPUs of compute capability 8.0 (Ampere) and newer.
//
// It is in binaries that were built with the tag cuda (make build-cuda), for linux/amd64.
// Without the tag, New returns ErrAbsent, which says where to get such a binary. The default
// binary needs nothing of CUDA.
//
// # Parts
//
// From the device over a step to its kernels:
//
//	options      what New needs
//	absent       New of a binary without CUDA
//	found        a device that List has seen
//	device       a gpu.Device: what it is, its memory
//	worker       the goroutine that loads, and makes and frees pools
//	load         the way of weights onto the device
//	plan         how weights are held
//	model        a gpu.Model
//	flow         steps that begin while the one before them is computed
//	step         one step
//	prepare      what the device needs to know of it
//	upload       its way to the device
//	exchange     memory that is copied between host and device
//	layout       the structs in it
//	pool         the KV pool, the page table and the buffers of a step
//	rope         tables of rotary angles
//	graphs       decode steps as graphs
//	compile      a program as launches of kernels
//	tensor       ops for tensor cores, some of them in one kernel
//	plain        the other ops, one by one
//	dataflow     who reads a buffer
//	splits       how many blocks share a sum
//	tensormaps   matrices as Hopper copies them
//	launch       the run of a kernel
//	kernels      the kernels, loaded
//	errors       errors that end the process; how much memory is missing
//
// # Order of sums
//
// kernels/order.cuh fixes in which order products and attention add. A row's result depends
// on nothing else of the step, so it has the same bits alone and in a batch, in chunks and
// after a cached prefix, on the emulation (testkit/cudaemu) and on a GPU.
//
// # Threads
//
// The device has a goroutine, the worker, which loads models, makes pools and frees both.
// Each model has two more, those of its queue: one begins and ends steps, and owns the model
// while steps are in flight; the other one waits for the device, without occupying a
// processor. Each of the three is locked to its thread, which has the device's context, and
// they pass what they own through channels, without a lock.
package cuda
