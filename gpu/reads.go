package gpu

// WeightReader is a Model that knows what it reads, which is what a share of
// the memory's bandwidth is computed from.
type WeightReader interface {
	// WeightBytesRead is how many bytes of weights a step reads at least, as
	// the device keeps them: each matrix of a product and each vector once.
	WeightBytesRead() int64
}
