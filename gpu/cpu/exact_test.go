package cpu

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel"
	"github.com/troupe-engine/troupe/gpu/gputest"
	"github.com/troupe-engine/troupe/gpu/quant"
)

// With activations in float32, matrices of integers give what the same numbers
// as F32 give, bit for bit, at every level: for one token and for many, whose
// columns are split at blocks.
func TestIntegersAreTheirNumbers(t *testing.T) {
	for _, dtype := range []gpu.DType{gpu.Q8_0, gpu.Q4_0, gpu.Q4_1, gpu.Q4_K, gpu.Q6_K} {
		shape := wide
		shape.DType, shape.Inner, shape.Bias = dtype, 224, true
		if dtype.BlockLen() > 32 {
			shape.Hidden, shape.Heads, shape.KVHeads, shape.HeadDim, shape.Inner = 256, 8, 2, 32, 2048
		}
		p, w := gputest.Build(shape, 3)
		decoded := gputest.Tensors{}
		for name, x := range w {
			if x.DType == dtype {
				n := 1
				for _, d := range x.Shape {
					n *= d
				}
				numbers := make([]float32, n)
				quant.Dequantize(dtype, numbers, x.Data)
				x.DType, x.Data = gpu.F32, make([]byte, 4*n)
				quant.Quantize(gpu.F32, x.Data, numbers)
			}
			decoded[name] = x
		}
		for _, level := range kernel.Levels() {
			d, err := New(Options{Threads: 2, InstructionSet: level.String(), Activations: "f32"})
			if err != nil {
				t.Fatal(err)
			}
			spec := gpu.PoolSpec{PageSize: 16, Pages: 8, DType: gpu.BF16}
			var want [][]float32
			for _, source := range []gputest.Tensors{decoded, w} {
				m, err := gputest.Load(d, p, source, spec)
				if err != nil {
					t.Fatal(err)
				}
				var logits [][]float32
				for _, tokens := range []int{40, 1, 5} {
					q := prompt(shape, spec, len(logits)+tokens)
					q.Start, q.Tokens, q.KeepLogits = len(logits), q.Tokens[len(logits):], true
					got, err := gputest.Step(m, q)
					if err != nil {
						t.Fatal(err)
					}
					logits = append(logits, got[0].Logits...)
				}
				if want == nil {
					want = logits
				} else if err := gputest.Same(logits, want); err != nil {
					t.Errorf("%s at %s: %v", dtype, level, err)
				}
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
