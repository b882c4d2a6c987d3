package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// long is a small model with a long context, so that attention has several segments.
var long = gputest.Shape{Name: "long", Vocab: 60, Hidden: 24, Layers: 1, Heads: 6, KVHeads: 2, HeadDim: 20, Intermediate: 16, Context: 4096}

// A context of several segments, divided into units for one thread, for many threads,
// and for all kinds of steps.
func TestSplitsOfLongContextsDoNotChangeABit(t *testing.T) {
	const n = 2*segment + 100
	for i, level := range simd.Levels() {
		kv := []gpu.DType{gpu.F32, gpu.I8, gpu.BF16, gpu.F16}[i]
		var want [][]float32
		for _, way := range []struct{ threads, pageSize, chunk, beside int }{
			{1, 16, n, 0}, {2, 16, n, 0}, {7, 32, 611, 0}, {5, 4, 509, 2}, {3, 64, 1, 3}, {4, 1, 13, 1},
		} {
			o := Options{Threads: way.threads, InstructionSet: level.String()}
			spec := gpu.PoolSpec{PageSize: way.pageSize, DType: kv, Pages: (n/way.pageSize + 2) * (1 + way.beside)}
			m, _ := load(t, long, o, spec)
			got, err := lastLogits(m, spec, n, way.chunk, way.beside)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if err := gputest.Same(got, want); err != nil {
				t.Errorf("%s, KV %s, %+v: %v", level, kv, way, err)
			}
		}
	}
}

// lastLogits computes a prompt next to short sequences: all but its last 30 tokens in one
// step, those in chunks. It returns the logits of the 30 tokens.
func lastLogits(m gpu.Model, spec gpu.PoolSpec, n, chunk, beside int) ([][]float32, error) {
	q := prompt(long, spec, n)
	var others []gputest.Part
	for i := range beside {
		o := prompt(long, spec, 3)
		for j := range o.Grow {
			o.Grow[j] += int32((n/spec.PageSize + 2) * (i + 1))
		}
		o.Row = gpu.Row(i + 1)
		others = append(others, o)
	}
	var logits [][]float32
	for at := 0; at < n; at += q.Count {
		size := n - 30
		if at > 0 || chunk == n {
			size = chunk
		}
		q.Start, q.Count, q.KeepLogits = at, min(size, n-at), true
		b := gputest.Batch(append([]gputest.Part{q}, others...)...)
		if at > 0 {
			for _, o := range others {
				b.Closed = append(b.Closed, o.Row)
			}
		}
		got, err := gputest.Run(m, b)
		if err != nil {
			return nil, err
		}
		logits = append(logits, got[0].Logits...)
		q.Open, q.Grow = nil, nil
	}
	return logits[n-30:], nil
}

// Steps over split contexts do not allocate either.
func TestAllocationsOfSplitAttention(t *testing.T) {
	spec := gpu.PoolSpec{PageSize: 16, Pages: 300, DType: gpu.I8}
	m, _ := load(t, long, Options{Threads: 3}, spec)
	q := prompt(long, spec, 4*segment)
	if _, err := gputest.Fresh(m, q); err != nil {
		t.Fatal(err)
	}
	cached := len(q.Open.Prompt)/16 - 1
	q.Open.Pages, q.Grow, q.Start, q.Count = q.Grow[:cached], q.Grow[cached:], 16*cached, 3
	batch, ended := gputest.FreshBatch(q), make(chan error, 1)
	done := func(_ *gpu.StepResult, err error) { ended <- err }
	got := testing.AllocsPerRun(30, func() {
		m.Submit(batch, done)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if len(m.step.splits) == 0 || got > 0 {
		t.Errorf("a step of %d splits makes %v allocations, want none", len(m.step.splits), got)
	}
}

// In any step, spans cover each tile's segments once for each head.
func TestSpansCoverEverySegment(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		s := &step{model: &model{compiled: compiled{threads: 1 + r.IntN(20)}}}
		heads, row := 1+r.IntN(4), 0
		for range 1 + r.IntN(12) {
			n, start := 1+r.IntN(12), r.IntN(4)*r.IntN(9000)
			s.tiles = append(s.tiles, queryTile{0, row, n})
			for i := range n {
				s.pos = append(s.pos, int32(start+i))
			}
			row += n
		}
		s.planSplits(heads, 3, 32)
		covered := map[string]int{}
		for _, x := range s.spans {
			for i := x.from; i < x.to; i++ {
				covered[fmt.Sprint(x.tile, i)]++
			}
			if (x.split == nil) != (x.from == 0 && x.to == s.segmentsOf(x.tile)) {
				t.Fatalf("tile %d of %d segments: span %+v", x.tile, s.segmentsOf(x.tile), x)
			}
		}
		all := 0
		for i := range s.tiles {
			all += s.segmentsOf(i)
		}
		for what, n := range covered {
			if n != 1 {
				t.Fatalf("tile and segment %s: %d times", what, n)
			}
		}
		if len(covered) != all {
			t.Fatalf("%d of %d segments are covered", len(covered), all)
		}
		for i := range s.splits {
			p := &s.splits[i]
			for h := range heads {
				if p.done(h, p.segments-1) || !p.done(h, 1) || p.missing[h].Load() != int32(p.segments) {
					t.Fatalf("split %d, head %d: %d segments missing in the end", i, h, p.missing[h].Load())
				}
			}
		}
	}
}
