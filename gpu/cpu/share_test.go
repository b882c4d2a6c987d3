package cpu

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// Models that share weights compute the same at the same time, each on its own pool, and
// the weights are kept until the last one is closed.
func TestSharedWeights(t *testing.T) {
	d, err := New(Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, w := gputest.Build(gputest.Shapes()[0], 7)
	spec := gputest.Pool(p, gpu.PoolSpec{PageSize: 4, Pages: 8, DType: gpu.F32})
	first, err := gputest.Load(d, p, w, spec)
	if err != nil {
		t.Fatal(err)
	}
	second := first.(gpu.Sharer).Share()
	if err := second.NewPool(spec); err != nil {
		t.Fatal(err)
	}
	if first.Bytes()["weights"] == 0 || second.Bytes()["weights"] != 0 {
		t.Errorf("the weights are counted as %d and %d bytes", first.Bytes()["weights"], second.Bytes()["weights"])
	}
	logits := func(m gpu.Model) [][]float32 {
		t.Helper()
		part := gputest.Whole([]int32{1, 2, 3, 4, 5}, []int32{3, 1})
		part.KeepLogits = true
		rows, err := gputest.Fresh(m, part)
		if err != nil {
			t.Fatal(err)
		}
		return rows[0].Logits
	}
	want := logits(first)
	if err := gputest.Same(logits(second), want); err != nil || len(want) == 0 {
		t.Errorf("the second model: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gputest.Same(logits(second), want); err != nil {
		t.Errorf("after the first model was closed: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}
