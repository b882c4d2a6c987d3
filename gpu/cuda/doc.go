// Package cuda is the device for NVIDIA GPUs of compute capability 8.0 (Ampere) and newer.
//
// It is in binaries that were built with the tag cuda (make build-cuda), for linux/amd64.
// Without the tag New says where such a binary is to be had; nothing of CUDA is needed to
// build, test or run the default binary.
//
// # Parts
//
//	options, absent            what New needs; New of a binary without CUDA
//	found                      a device that List has seen
//	device                     a gpu.Device: what it is, its memory
//	worker                     the goroutine that loads, and makes and frees pools
//	plan, load                 how weights are held; their way onto the device
//	compile                    a program as launches of kernels
//	plain, tensor, dataflow    ops one by one; ops for tensor cores, some of them in one kernel; who reads a buffer
//	launch, splits, kernels    a launch; how many blocks share a sum; the kernels, loaded
//	graphs, tensormaps         decode steps as graphs; matrices as Hopper copies them
//	pool, rope                 the KV pool, the page table and the buffers of a step; tables of rotary angles
//	model, flow                a gpu.Model; steps that begin while the one before them is computed
//	step, prepare, upload      one step; what the host tells the device of it
//	layout, exchange           the structs of both; memory that is copied between both
//	errors                     errors that end the process; how much memory is missing
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
