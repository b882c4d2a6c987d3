package gpu

// StepsInFlight is how many steps a model accepts at once: one that runs, and the next.
const StepsInFlight = 2

// Model is a loaded program. Calls come from one goroutine at a time.
type Model interface {
	// NewPool makes a KV pool and a table of closed rows, and frees older ones. No step
	// may be in flight. Contents are undefined; masked positions may hold NaN.
	NewPool(spec PoolSpec) error
	// Submit starts a step and returns. Steps are computed in order; more than
	// StepsInFlight are refused. done is called exactly once, from any goroutine, and
	// must not block; those of accepted steps are called one by one, in order. Until then
	// the step is in flight, and the batch and all it points to stay frozen.
	//
	// A failed step leaves the rows undefined: every step fails until one with Reset.
	Submit(batch *StepBatch, done func(*StepResult, error))
	// Quiesce calls done once no step is in flight and every done has returned.
	Quiesce(done func())
	// Bytes is the memory held, measured, by purpose: "weights", "kv", "activations"
	// (buffers of the step's rows), "workspace" (scratch of kernels). It may be called
	// from any goroutine, also while a step runs, but not during NewPool or Close.
	Bytes() map[string]int64
	// Close frees everything. No step may be in flight.
	Close() error
}

// Sharer is a Model that can share its weights with other engines in the process.
type Sharer interface {
	Model
	// Share returns another model with the same weights and its own pool, rows and steps.
	// The last Close frees the weights; only Bytes of the first model counts them.
	Share() Model
}

// WeightReader is a Model that knows how much it reads, from which the share of the
// memory's bandwidth is computed.
type WeightReader interface {
	// WeightBytesRead is how many bytes of weights a step reads at least, as the device
	// stores them: each matrix of a product and each vector once.
	WeightBytesRead() int64
}
