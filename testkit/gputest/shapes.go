package gputest

import (
	"fmt"
	"math/rand/v2"

	"github.com/troupe-engine/troupe/gpu"
)

// Shape is a decoder in the style of Llama.
type Shape struct {
	Name         string
	Vocab        int
	Hidden       int
	Layers       int
	Heads        int
	KVHeads      int
	HeadDim      int
	Intermediate int // width of the MLP
	Context      int
	Bias         bool // of Q, K and V
	QKNorm       bool
	Tied         bool // the output matrix is the embedding
	// DType is the type of the weights. Of a quantised type are the matrices
	// whose rows fill its blocks; the others are F16 and vectors F32.
	DType gpu.DType
}

func (s Shape) dtypeOf(shape []int) gpu.DType {
	switch {
	case !s.DType.Quantised():
		return s.DType
	case len(shape) == 1:
		return gpu.F32
	case shape[1]%s.DType.BlockLen() != 0:
		return gpu.F16
	}
	return s.DType
}

// Shapes are the models of the suite: awkward on purpose, with widths that are not
// multiples of anything, odd heads, one and many KV heads.
func Shapes() []Shape {
	return []Shape{
		{Name: "gqa-bias-f32", Vocab: 97, Hidden: 50, Layers: 2, Heads: 6, KVHeads: 2, HeadDim: 10, Intermediate: 77, Context: 256, Bias: true},
		{Name: "mha-tied-bf16", Vocab: 130, Hidden: 64, Layers: 2, Heads: 4, KVHeads: 4, HeadDim: 16, Intermediate: 101, Context: 256, Tied: true, DType: gpu.BF16},
		{Name: "mqa-qknorm-f16", Vocab: 61, Hidden: 33, Layers: 1, Heads: 5, KVHeads: 1, HeadDim: 24, Intermediate: 40, Context: 256, QKNorm: true, DType: gpu.F16},
		{Name: "odd-head-f32", Vocab: 41, Hidden: 21, Layers: 2, Heads: 3, KVHeads: 3, HeadDim: 7, Intermediate: 19, Context: 256},
	}
}

// quantisedShape is a model with weights of a type, of odd numbers of rows and
// of several blocks a row. The rows of down do not fill blocks of 256, those of
// the other matrices do.
func quantisedShape(d gpu.DType, tied bool) Shape {
	s := Shape{
		Name: d.String(), Vocab: 61, Hidden: 96, Layers: 1, Heads: 6, KVHeads: 2, HeadDim: 16, Intermediate: 64, Context: 256,
		Bias: true, Tied: tied, DType: d,
	}
	if d.BlockLen() > 32 {
		s.Hidden, s.Heads, s.KVHeads, s.HeadDim, s.Intermediate = 256, 8, 1, 32, 37
	}
	return s
}

// longRows are models with more columns than a device may multiply at once,
// where sums begin and where they are added to, of the types for which steps of
// many rows may have kernels of their own.
func longRows(d gpu.DType) []Shape {
	columns := 1056 // blocks of a power of two leave one group of 32
	switch d {
	case gpu.F16, gpu.BF16:
		columns = 523 // and of single columns, an odd number
	case gpu.Q8_0, gpu.Q4_0:
	default:
		return nil
	}
	begun, added := quantisedShape(d, false), quantisedShape(d, true)
	begun.Name, begun.Hidden = "wide", columns
	added.Name, added.Intermediate = "wide-mlp", columns
	return []Shape{begun, added}
}

// RandomShape draws a small model with weights of one of the types. Its width is
// at least 8: a norm over one or two elements magnifies rounding without bound,
// so no tolerance holds. Of a quantised type the width fills blocks, that of the
// MLP does so for every second model.
func RandomShape(seed uint64, types []gpu.DType) Shape {
	r := rand.New(rand.NewPCG(seed, 8))
	s := Shape{
		Name: fmt.Sprintf("random-%d", seed), Vocab: 10 + r.IntN(150), Hidden: 8 + r.IntN(83), Layers: 1 + r.IntN(3),
		KVHeads: 1 + r.IntN(4), HeadDim: 1 + r.IntN(40), Intermediate: 1 + r.IntN(120), Context: 256,
		Bias: r.IntN(2) == 0, QKNorm: r.IntN(2) == 0, Tied: r.IntN(2) == 0, DType: types[r.IntN(len(types))],
	}
	s.Heads = s.KVHeads * (1 + r.IntN(8))
	if n := s.DType.BlockLen(); n > 1 {
		s.Hidden = n * (1 + r.IntN(3))
		if r.IntN(2) == 0 {
			s.Intermediate = n * (1 + r.IntN(2))
		}
	}
	return s
}
