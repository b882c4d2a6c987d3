package gpu

// WeightPlan is what a device makes of the weights of a program.
type WeightPlan struct {
	Bytes int64 // held once they are loaded
	// Changed are the matrices that are not held in the type that they are
	// stored in.
	Changed []HeldWeights
}

// HeldWeights are the matrices of one type that are held in another one, for
// one reason.
type HeldWeights struct {
	Stored, Held DType
	Why          string // for people
	Tensors      int
	Bytes        int64
}
