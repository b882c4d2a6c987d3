package gpu

// WeightPlan is how a device stores the weights of a program.
type WeightPlan struct {
	Bytes int64 // held once they are loaded
	// Changed are the matrices that are not held in their stored type.
	Changed []HeldWeights
}

// HeldWeights are the matrices of one type that are held in another one, for one reason.
type HeldWeights struct {
	Stored, Held DType
	Why          string // for people
	Tensors      int
	Bytes        int64
}

// Weights finds tensors by name. Errors of Tensor name the tensor and the file.
type Weights interface {
	Tensor(name string) (Tensor, error)
}

// StreamedWeights are Weights that may be too large to be in memory twice. A device
// that copies tensors one after the other then needs little more than the copies.
type StreamedWeights interface {
	Weights
	// Describe is Tensor without Data.
	Describe(name string) (Tensor, error)
	// Discard says that a tensor's data, or a part of it, has been read. Its memory may
	// be freed; the data stays valid and is read again on demand.
	Discard(data []byte)
}

// PlacedWeights are Weights that know where their tensors are stored, for errors.
type PlacedWeights interface {
	Weights
	// Place is the file and the tensor of an index into the first dimension, as an
	// error text begins, and the index there.
	Place(name string, index int) (tensor string, at int)
}

// Tensor is a dense row-major array on the host. Data is little-endian, frozen, and
// valid until its source is closed.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  []byte // DType.Bytes(product of Shape) bytes, rows one after the other
}

func Elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
