package cpu

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/gpu/quant"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// With activations in float32, matrices of integers have the same results as the same
// numbers in F32, bit for bit, at every level: for one token and for many, whose
// columns are split at blocks.
//
// With activations in int8, chunks do not change a bit.
func TestIntegersAreTheirNumbers(t *testing.T) {
	for _, dtype := range []gpu.DType{gpu.Q8_0, gpu.Q4_0, gpu.Q4_1, gpu.Q4_K, gpu.Q6_K} {
		shape := wide
		shape.DType, shape.Intermediate, shape.Bias = dtype, 224, true
		if dtype.BlockLen() > 32 {
			shape.Hidden, shape.Heads, shape.KVHeads, shape.HeadDim, shape.Intermediate = 256, 8, 2, 32, 2048
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
		for _, level := range simd.Levels() {
			d, err := New(Options{Threads: 2, InstructionSet: level.String(), Activations: "f32"})
			if err != nil {
				t.Fatal(err)
			}
			want := chunked(t, d, p, decoded, shape, 40, 1, 5)
			if err := gputest.Same(chunked(t, d, p, w, shape, 40, 1, 5), want); err != nil {
				t.Errorf("%s at %s: %v", dtype, level, err)
			}
			d, err = New(Options{Threads: 2, InstructionSet: level.String()})
			if err != nil {
				t.Fatal(err)
			}
			want = chunked(t, d, p, w, shape, 46)
			for _, chunks := range [][]int{{40, 1, 5}, {1, 13, 7, 25}} {
				if err := gputest.Same(chunked(t, d, p, w, shape, chunks...), want); err != nil {
					t.Errorf("%s at %s in int8, chunks of %d: %v", dtype, level, chunks, err)
				}
			}
		}
	}
}

// chunked loads a model and returns the logits of a prompt computed in chunks.
func chunked(t *testing.T, d gpu.Device, p *gpu.Program, w gpu.Weights, shape gputest.Shape, sizes ...int) (logits [][]float32) {
	t.Helper()
	spec := gpu.PoolSpec{PageSize: 16, Pages: 8, DType: gpu.BF16}
	m, err := gputest.Load(d, p, w, spec)
	if err != nil {
		t.Fatal(err)
	}
	logits = chunks(t, m, shape, spec, sizes...)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return logits
}
