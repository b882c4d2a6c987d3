package cpu_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// open makes a device or ends the test.
func open(t testing.TB, o cpu.Options) gpu.Device {
	t.Helper()
	d, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every level of this processor. Another test compares the bits of different numbers of
// threads.
func TestDevice(t *testing.T) {
	for i, level := range simd.Levels() {
		o := cpu.Options{Threads: 1 + i, InstructionSet: level.String()}
		t.Run(level.String(), func(t *testing.T) { gputest.RunDevice(t, open(t, o)) })
		// Without int8 only quantised weights differ: types
		// with kernels, one that another form holds exactly, one that is widened.
		o.Activations = "f32"
		t.Run(level.String()+"/f32", func(t *testing.T) {
			for _, w := range []string{"q8_0", "q4_0", "iq4_nl", "q6_k"} {
				if failure := gputest.Failure(open(t, o), "weights/"+w); failure != "" {
					t.Error(failure)
				}
			}
		})
	}
}

// TROUPE_SOAK=1 draws many more shapes.
func TestRandomShapes(t *testing.T) {
	shapes := uint64(3)
	if os.Getenv("TROUPE_SOAK") == "1" {
		shapes = 100
	}
	for seed := range shapes {
		levels := simd.Levels()
		o := cpu.Options{Threads: 1 + int(seed%3), InstructionSet: levels[int(seed)%len(levels)].String()}
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			d := open(t, o)
			if err := gputest.RunShape(d, gputest.RandomShape(seed, d.Info().Weights), seed); err != nil {
				t.Errorf("%+v: %v", o, err)
			}
		})
	}
}

// Head sizes and groups of real models, at the levels whose kernels
// take several at a time.
func TestHeadsOfModels(t *testing.T) {
	for i, s := range []gputest.Shape{
		{HeadDim: 32, Heads: 6, KVHeads: 3}, {HeadDim: 64, Heads: 14, KVHeads: 2}, {HeadDim: 80, Heads: 4, KVHeads: 4},
		{HeadDim: 96, Heads: 12, KVHeads: 1}, {HeadDim: 128, Heads: 16, KVHeads: 1}, {HeadDim: 256, Heads: 8, KVHeads: 1},
	} {
		s.Name, s.Vocab, s.Hidden, s.Layers, s.Intermediate, s.Context = fmt.Sprintf("heads-%d", s.HeadDim), 30, 24, 1, 16, 256
		levels := simd.Levels()
		o := cpu.Options{Threads: 1 + i%2, InstructionSet: levels[len(levels)-1-i%min(2, len(levels))].String()}
		t.Run(s.Name, func(t *testing.T) {
			if err := gputest.RunShape(open(t, o), s, uint64(i)); err != nil {
				t.Errorf("%+v: %v", o, err)
			}
		})
	}
}
