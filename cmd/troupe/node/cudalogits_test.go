//go:build cuda

package node

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// The logits of the embedded model are those of gpu/ref within the suite's tolerance, for
// prompts that end beside the border of a page, and for the three tokens after them, one by
// one.
func TestCUDALogitsOfTheEmbeddedModel(t *testing.T) {
	c, _ := emulatedCUDA(t)
	n, err := OpenModel(t.Context(), Options{Config: c, Log: zerolog.Nop(), Unhashed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, n)
	p, w := n.Checkpoint.Program, n.Checkpoint.Weights
	for _, kv := range []gpu.DType{gpu.BF16, gpu.I8} {
		spec := gpu.PoolSpec{PageSize: 64, Pages: 8, DType: kv, Rows: 8, StepTokens: 512}
		var models [2]gpu.Model // the device's and the reference's
		for i, d := range []gpu.Device{n.Device, ref.New()} {
			if models[i], err = gputest.Load(d, p, w, spec); err != nil {
				t.Fatal(err)
			}
			defer models[i].Close()
		}
		parts := pagedPrompts(p.Vocab)
		tolerance := gputest.Tolerance(n.Device.Info().Numerics, n.Checkpoint.WeightDType(), kv)
		furthest := 0.0
		for step := range 4 {
			var rows [2][]gpu.RowResult
			for i, m := range models {
				if rows[i], err = gputest.Step(m, parts...); err != nil {
					t.Fatal(err)
				}
			}
			for i := range parts {
				for j, want := range rows[1][i].Logits {
					d := distance(rows[0][i].Logits[j], want)
					furthest = max(furthest, d)
					if !(d <= tolerance) {
						t.Fatalf("KV %s, step %d, row %d, token %d: a logit is off by %.2g, want at most %.2g", kv, step, i, j, d, tolerance)
					}
				}
				parts[i] = gputest.Part{RowWork: gpu.RowWork{Row: parts[i].Row, Start: parts[i].Start + parts[i].Count, Count: 1, KeepLogits: true}}
			}
		}
		t.Logf("KV %s: logits are off by up to %.2g, allowed are %.2g", kv, furthest, tolerance)
	}
}

// pagedPrompts are rows of random tokens, of which the last three are left for later steps.
func pagedPrompts(vocab int) (parts []gputest.Part) {
	r := rand.New(rand.NewPCG(14, 4))
	page := int32(1)
	for i, n := range []int{4, 65, 67, 134} {
		tokens := make([]int32, n)
		for j := range tokens {
			tokens[j] = r.Int32N(int32(vocab))
		}
		var pages []int32
		for range (n + 63) / 64 {
			pages = append(pages, page)
			page++
		}
		p := gputest.Whole(tokens, pages)
		p.Row, p.Count, p.KeepLogits = gpu.Row(i), n-3, true
		parts = append(parts, p)
	}
	return parts
}

// distance is the largest difference of two rows of logits, relative to 1 + the largest
// wanted one, as tolerances are. A value that is not a number is infinitely far.
func distance(got, want []float32) (d float64) {
	largest := 0.0
	for i, x := range want {
		largest = max(largest, math.Abs(float64(x)))
		off := math.Abs(float64(got[i]) - float64(x))
		if math.IsNaN(off) {
			return math.Inf(1)
		}
		d = max(d, off)
	}
	return d / (1 + largest)
}
