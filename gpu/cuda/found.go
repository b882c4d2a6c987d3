package cuda

import "github.com/troupe-engine/troupe/internal/units"

// Found is a device that List has seen.
type Found struct {
	Ordinal int
	Name    string // "NVIDIA H200"
	UUID    string
	Compute string // compute capability, "9.0"
	Memory  int64  // bytes, all of it
	Driver  string // version of the CUDA API, "12.4"
	// Fault is why the device cannot be used; nil: it can.
	Fault error
}

// String is a line for people.
func (f Found) String() string {
	return f.Name + ", compute capability " + f.Compute + ", " + units.Bytes(f.Memory)
}
