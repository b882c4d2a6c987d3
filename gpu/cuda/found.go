package cuda

// Found is a device that List has seen.
type Found struct {
	Ordinal int
	Name    string // "NVIDIA H200"; "": unknown, as all below but Fault
	UUID    string // "GPU-" and 36 characters; "": unknown
	Compute string // compute capability, "9.0"
	Memory  int64  // bytes, all of it
	Driver  string // version of the CUDA API, "12.4"
	// Fault is why the device cannot be used; nil: it can.
	Fault error
}
