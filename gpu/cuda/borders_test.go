//go:build cuda

package cuda_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// border is a model with a long context. In few rows several blocks share the segments of 512
// positions: see splits.
type border struct {
	gputest.Shape
	pools []gpu.DType
	ends  []int // lengths of contexts beside borders of segments
}

var borders = []border{
	{gputest.Shape{Name: "wide heads", Vocab: 24, Hidden: 16, Layers: 1, Heads: 2, KVHeads: 1, HeadDim: 136, Intermediate: 16, Context: 2048, DType: gpu.BF16},
		[]gpu.DType{gpu.BF16, gpu.I8}, []int{511, 512, 513, 1023, 1024, 1025}},
	{gputest.Shape{Name: "groups of heads", Vocab: 24, Hidden: 16, Layers: 1, Heads: 6, KVHeads: 1, HeadDim: 16, Intermediate: 16, Context: 4096, DType: gpu.F16},
		[]gpu.DType{gpu.I8}, []int{511, 513, 1023, 1025, 2048, 2049}},
}

const borderPage = 16

// Contexts that end beside the border of a segment have the same bits token by token as in
// one step, in few rows, whose segments several blocks share, and in many, where they do
// not. They are within tolerance of gpu/ref. TROUPE_SOAK=1 also computes the longest of them
// from the first token on, one by one.
func TestContextsOverSegmentBorders(t *testing.T) {
	if !cudaemu.RealDevice() {
		fake, _ := faking(t)
		set := func(multiprocessors int) {
			if err := fake.Set(fmt.Sprint("multiprocessors=", multiprocessors)); err != nil {
				t.Error(err)
			}
		}
		set(1) // 6 rows share their segments, 12 do not
		t.Cleanup(func() { set(16) })
	}
	d := emulated(t, cuda.Options{})
	for _, b := range borders {
		for _, kv := range b.pools {
			t.Run(fmt.Sprintf("%s/kv-%s", b.Name, kv), func(t *testing.T) { b.check(t, d, kv) })
		}
	}
}

func (b border) check(t *testing.T, d gpu.Device, kv gpu.DType) {
	p, w := gputest.Build(b.Shape, 5)
	n := b.ends[len(b.ends)-1] + 2
	whole := (n + borderPage - 1) / borderPage
	const copies = 2
	spec := gpu.PoolSpec{PageSize: borderPage, Pages: whole + 2*copies*len(b.ends), DType: kv, Rows: 1 + copies*len(b.ends), StepTokens: n}
	m, err := gputest.Load(d, p, w, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	random := rand.New(rand.NewPCG(5, uint64(kv)))
	tokens, pages := make([]int32, n), make([]int32, whole)
	for i := range tokens {
		tokens[i] = random.Int32N(int32(b.Vocab - 1))
	}
	for i := range pages {
		pages[i] = int32(i + 1)
	}
	all := gputest.Whole(tokens, pages)
	all.KeepLogits = true
	got, err := gputest.Step(m, all)
	if err != nil {
		t.Fatal(err)
	}
	want := got[0].Logits

	reference, err := gputest.Load(ref.New(), p, w, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer reference.Close()
	exact, err := gputest.Step(reference, all)
	if err != nil {
		t.Fatal(err)
	}
	if off, tolerance := furthest(want, exact[0].Logits), gputest.Tolerance(d.Info().Numerics, b.DType, kv); !(off <= tolerance) {
		t.Errorf("logits are off by %.2g, at most %.2g is allowed", off, tolerance)
	}

	for _, each := range []int{1, copies} {
		// Rows of all contexts begin with pages of the whole one and have two of their own.
		// The first step ends three tokens before the context does.
		var parts []gputest.Part
		page := int32(whole)
		for i := range each * len(b.ends) {
			end := b.ends[i%len(b.ends)] - 3
			cached := (end - 1) / borderPage
			parts = append(parts, gputest.Part{
				Open: &gpu.RowOpened{Prompt: tokens, Pages: pages[:cached], Sampling: gputest.Plain()}, Grow: []int32{page + 1, page + 2},
				RowWork: gpu.RowWork{Row: gpu.Row(i + 1), Start: cached * borderPage, Count: end - cached*borderPage, KeepLogits: true}})
			page += 2
		}
		for step := range 6 {
			if got, err = gputest.Step(m, parts...); err != nil {
				t.Fatal(err)
			}
			for i := range parts {
				q := &parts[i]
				if err := gputest.Same(got[i].Logits, want[q.Start:q.Start+q.Count]); err != nil {
					t.Fatalf("%d rows, step %d, from position %d on: %v", len(parts), step, q.Start, err)
				}
				*q = gputest.Part{RowWork: gpu.RowWork{Row: q.Row, Start: q.Start + q.Count, Count: 1, KeepLogits: true}}
			}
		}
		closed := &gpu.StepBatch{}
		for i := range parts {
			closed.Closed = append(closed.Closed, parts[i].Row)
		}
		if _, err := gputest.Run(m, closed); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getenv("TROUPE_SOAK") != "1" {
		return
	}
	one := make([]int, n)
	for i := range one {
		one[i] = 1
	}
	alone, err := gputest.Chunked(m, tokens, pages, one...)
	if err == nil {
		err = gputest.Same(alone, want)
	}
	if err != nil {
		t.Errorf("token by token: %v", err)
	}
}

// furthest is the largest difference of logits, relative to 1 + the largest wanted one of
// the row, as tolerances are.
func furthest(got, want [][]float32) (d float64) {
	for i := range want {
		largest, off := 0.0, 0.0
		for j, x := range want[i] {
			largest = max(largest, math.Abs(float64(x)))
			apart := math.Abs(float64(got[i][j]) - float64(x))
			if math.IsNaN(apart) {
				return math.Inf(1)
			}
			off = max(off, apart)
		}
		d = max(d, off/(1+largest))
	}
	return d
}
