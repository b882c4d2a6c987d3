//go:build !race

// Without the race detector: these tests look for defects of arithmetic, and take
// minutes under it. TestDevice runs the same code there.

package cpu_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

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
	levels := simd.Levels()
	if len(levels) > 1 {
		levels = levels[1:] // without plain Go
	}
	for i, s := range []gputest.Shape{
		{HeadDim: 32, Heads: 6, KVHeads: 3}, {HeadDim: 64, Heads: 14, KVHeads: 2}, {HeadDim: 80, Heads: 4, KVHeads: 4},
		{HeadDim: 96, Heads: 12, KVHeads: 1}, {HeadDim: 128, Heads: 16, KVHeads: 1}, {HeadDim: 256, Heads: 8, KVHeads: 1},
	} {
		s.Name, s.Vocab, s.Hidden, s.Layers, s.Intermediate, s.Context = fmt.Sprintf("heads-%d", s.HeadDim), 30, 24, 1, 16, 256
		o := cpu.Options{Threads: 1 + i%2, InstructionSet: levels[len(levels)-1-i%min(2, len(levels))].String()}
		t.Run(s.Name, func(t *testing.T) {
			if err := gputest.RunShape(open(t, o), s, uint64(i)); err != nil {
				t.Errorf("%+v: %v", o, err)
			}
		})
	}
}
