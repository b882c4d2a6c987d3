package cuda

import (
	"io"

	"github.com/troupe-engine/troupe/gpu"
)

// Options of New.
type Options struct {
	Ordinal int // of the device, as the driver counts them from 0
	// Library is the driver's file; "": libcuda.so.1, where the system and containers have it.
	Library string
	// Plain computes everything in float32, without tensor cores: slow, and the reference
	// for the others.
	Plain bool
	// Ampere uses no instructions of newer GPUs. Results are the same bits.
	Ampere bool
	// NoGraphs launches the kernels of every step one by one. Otherwise those of decode
	// steps are launched as graphs, which costs the host less. Results are the same bits.
	NoGraphs bool
}

// Device is a gpu.Device with an end. Close frees its context; no model may be open.
type Device interface {
	gpu.Device
	io.Closer
}
