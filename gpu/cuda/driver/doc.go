// Package driver is the CUDA driver API as Troupe uses it: devices, memory, modules,
// streams, events, graphs.
//
// It is there with the build tag cuda only (make build-cuda), for linux/amd64 with cgo.
// Without the tag the package is empty, and needs neither cgo nor gorgonia.org/cu.
// Contexts, modules, memory, streams and events are gorgonia.org/cu's package-level
// functions; its Ctx and BatchedContext are not used. This package has cgo of its own for
// what it lacks: graphs, pinned memory, attributes of functions, launches, tensor maps.
//
// # Parts
//
//	open, library              find and load the driver; what it is loaded with
//	describe                   number of devices; what one is
//	device, handle             a device and its context; who owns what is on it
//	memory, pinned             memory of the device; memory of the host that it can copy
//	module, function, launch   kernels
//	stream, copy, event        work in order; copies; marks in that order
//	graph                      work captured once and launched often
//	tilemap                    descriptions of tensors for TMA
//	errors, codes              an Error; what the driver's results mean
//
// library.c and the generated trampolines_amd64.S stand in for libcuda at link time, so
// that a program with this package starts where there is no driver, and include/cuda.h
// for NVIDIA's header. docs/decisions/0036-cuda-driver.md has the reasons.
//
// # Ownership
//
// What a method returns that has a Close belongs to the caller, who closes it once. A
// second Close does nothing and returns nil, like Close of nil. Each use after Close
// returns ErrClosed. The caller does not rely on Close to wait for work under way; it
// waits first, and closes graphs before the modules and the memory that they use. A
// Device is closed last, and refuses as long as anything on it is open. Live counts what
// is open in the process.
//
// # Threads
//
// CUDA keeps the current context by OS thread. Retain locks its goroutine to its thread and
// makes the device's context current there; all methods of the device and of what is on it
// are for this goroutine, until it closes the device. Another goroutine may call them
// after Device.Use, if nothing is used by two at once. Event.Done may be called by any
// goroutine, before Close.
//
// # Memory of Go
//
// No call that returns before its work is done gets memory of Go: copies go between the
// device and Pinned, whose bytes are C memory. The arguments of a launch are read before
// Launch returns.
//
// # Errors
//
// A refused call gives an *Error with call, device, and what to do. After a sticky one
// (Error.Sticky), the device cannot be used any more by this process; Device.Lost has the
// first, and Close of what is on it succeeds. errors.Is tells the reasons why a device
// cannot be used: ErrNoDriver, ErrOldDriver, ErrNoDevice, ErrUnsupported, ErrMemory.
package driver
