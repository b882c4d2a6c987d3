package cpu

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// A step reads all loaded weights except an embedding that computes no logits.
func TestWeightBytesRead(t *testing.T) {
	shape := gputest.Shape{Name: "reads", Vocab: 96, Hidden: 64, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16, Intermediate: 128, Context: 32, Bias: true, DType: gpu.BF16}
	spec := gpu.PoolSpec{PageSize: 16, Pages: 2, DType: gpu.F32}
	for _, tied := range []bool{true, false} {
		shape.Tied = tied
		m, _ := load(t, shape, Options{Threads: 1}, spec)
		want := m.Bytes()["weights"]
		if !tied {
			want -= 2 * 96 * 64
		}
		if got := m.WeightBytesRead(); got != want {
			t.Errorf("tied %v: %d bytes, want %d of %d", tied, got, want, m.Bytes()["weights"])
		}
	}
}

func TestReserve(t *testing.T) {
	b, free, err := Reserve(3 << 20)
	if err != nil || len(b) != 3<<20 || b[0] != 0 {
		t.Fatal(len(b), err)
	}
	b[len(b)-1] = 1
	if err := free(); err != nil {
		t.Error(err)
	}
}
