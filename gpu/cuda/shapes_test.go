//go:build cuda

package cuda_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// tensorShape draws a model for tensor cores: of 16-bit weights, with widths that are
// multiples of 8, of which some exceed a segment of K, and heads of each kernel's width.
func tensorShape(seed uint64) gputest.Shape {
	r := rand.New(rand.NewPCG(seed, 30))
	eights := func(least, most int) int { return 8 * (least + r.IntN(most-least+1)) }
	s := gputest.Shape{
		Name: fmt.Sprintf("tensor-%d", seed), Vocab: 10 + r.IntN(140), Hidden: eights(2, 12), Layers: 1,
		KVHeads: 1 + r.IntN(3), HeadDim: eights(1, 6), Intermediate: eights(1, 12), Context: 256,
		Bias: r.IntN(2) == 0, QKNorm: r.IntN(2) == 0, Tied: r.IntN(2) == 0, DType: []gpu.DType{gpu.F16, gpu.BF16}[r.IntN(2)],
	}
	group := 1 + r.IntN(5)
	switch seed % 6 {
	case 0:
		s.Layers, s.Intermediate = 2, eights(64, 80)
	case 1:
		s.Hidden, s.Vocab = eights(64, 70), 10
	case 3:
		s.KVHeads, s.HeadDim, group = 1, eights(9, 16), 1+r.IntN(3)
	case 4:
		s.KVHeads, s.HeadDim, group = 1, eights(17, 32), 1
	case 5:
		s.KVHeads, s.HeadDim, group = 1, 8, 17+r.IntN(48)
	}
	s.Heads = s.KVHeads * group
	return s
}

// Random models agree with the reference, and with themselves however they are computed.
func TestRandomShapes(t *testing.T) {
	d := emulated(t, cuda.Options{Ampere: true}) // TestDevice has the kernels of Hopper
	for seed := range uint64(30) {
		s := tensorShape(seed)
		if seed%6 == 2 {
			s = gputest.RandomShape(seed, []gpu.DType{gpu.F32, gpu.F16, gpu.BF16})
		}
		t.Run(s.Name, func(t *testing.T) {
			if err := gputest.RunShapeOnce(d, s, seed); err != nil {
				t.Error(err)
			}
		})
	}
}
