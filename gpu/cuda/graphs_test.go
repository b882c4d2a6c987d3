//go:build cuda

package cuda

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

func TestGraphSizes(t *testing.T) {
	for _, c := range []struct{ rows, most, want int }{
		{1, 256, 1}, {2, 256, 2}, {3, 256, 4}, {5, 256, 8}, {8, 256, 8}, {9, 256, 16}, {17, 256, 24}, {64, 256, 64},
		{65, 256, 80}, {255, 256, 256}, {256, 256, 256}, {257, 256, 0}, {5, 6, 6}, {7, 6, 0},
	} {
		if got := graphSize(c.rows, c.most); got != c.want {
			t.Errorf("%d rows of at most %d: a graph of %d, want %d", c.rows, c.most, got, c.want)
		}
	}
	sizes := map[int]bool{}
	for rows := range 256 {
		sizes[graphSize(rows+1, 256)] = true
	}
	if len(sizes) != graphSizes {
		t.Errorf("there are %d sizes, want %d", len(sizes), graphSizes)
	}
}

var graphShape = gputest.Shape{
	Name: "graphs", Vocab: 90, Hidden: 64, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16, Intermediate: 104, Context: 64, Tied: true, DType: gpu.BF16,
}

// Decode steps of any number of rows give the same bits as graphs and kernel by kernel. Rows
// of a graph that a step does not have change nothing.
func TestGraphs(t *testing.T) {
	decode := func(o Options) (results []string, sizes []int) {
		m := loaded(t, o, graphShape, gpu.PoolSpec{PageSize: 4, Pages: 120, DType: gpu.BF16, Rows: 20})
		for _, rows := range []int{1, 3, 20} {
			var parts []gputest.Part
			for r := range rows {
				prompt := []int32{int32(r), int32(2*r + 1), 7, int32(r % 5)}
				pages := []int32{int32(3*r + 1), int32(3*r + 2), int32(3*r + 3)}
				p := gputest.Whole(prompt, pages)
				p.Open.Sampling.TopLogprobs = 3
				if r%3 == 1 {
					p.Open.Sampling.Temperature, p.Open.Sampling.Seed, p.Open.Sampling.FrequencyPenalty = 1, uint64(r), 0.5
				}
				p.Sample = 1
				parts = append(parts, p)
			}
			got, err := gputest.Fresh(m, parts...)
			for step := range 7 {
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range got {
					results = append(results, fmt.Sprint(rows, step, r.Tokens, r.Logprobs))
				}
				var next []gputest.Part
				for r := range rows {
					last := 6 - r%5 // the rows end one by one, some without a sample
					if step > last {
						continue
					}
					work := gpu.RowWork{Row: gpu.Row(r), Start: 4 + step, Count: 1, Sample: 1}
					if step == last {
						work.Sample = r % 2
					}
					next = append(next, gputest.Part{RowWork: work})
				}
				got, err = gputest.Step(m, next...)
			}
		}
		return results, slices.Sorted(maps.Keys(m.graphs.byRows))
	}
	want, none := decode(Options{NoGraphs: true})
	got, sizes := decode(Options{})
	if len(none) > 0 || !slices.Equal(sizes, []int{1, 2, 4, 8, 16, 24}) {
		t.Errorf("graphs of %v rows, without graphs %v; want 1, 2, 4, 8, 16, 24 and none", sizes, none)
	}
	if !slices.Equal(got, want) {
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("as a graph\n%s, kernel by kernel\n%s", got[i], want[i])
			}
		}
	}
}
