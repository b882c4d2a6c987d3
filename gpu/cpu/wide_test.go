package cpu

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel"
	"github.com/troupe-engine/troupe/gpu/gputest"
)

// TestAMXGivesTheBitsOfAVX512: however a prompt is cut, and so whichever
// kernels its rows meet.
func TestAMXGivesTheBitsOfAVX512(t *testing.T) {
	if !kernel.AMX.Supported() {
		t.Skip("this processor has no AMX, or the system does not allow it")
	}
	spec := gpu.PoolSpec{PageSize: 16, Pages: 8, DType: gpu.BF16}
	for _, dtype := range []gpu.DType{gpu.Q8_0, gpu.Q4_0} {
		shape := wide
		shape.DType, shape.Inner, shape.Bias = dtype, 1120, true // more columns than a block
		p, w := gputest.Build(shape, 3)
		var want [][]float32
		for _, o := range []Options{
			{Threads: 1, InstructionSet: "avx512"}, {Threads: 1, InstructionSet: "amx"}, {Threads: 3, InstructionSet: "amx"},
		} {
			d, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			for _, steps := range [][]int{{100}, {40, 1, 59}, {11, tileLeast, 1, 24}} {
				m, err := gputest.Load(d, p, w, spec)
				if err != nil {
					t.Fatal(err)
				}
				var logits [][]float32
				for _, tokens := range steps {
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
					t.Errorf("%s at %s by %d threads, steps of %v tokens: %v", dtype, o.InstructionSet, o.Threads, steps, err)
				}
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
