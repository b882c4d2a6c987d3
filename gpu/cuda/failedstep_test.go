//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// After a call that failed in the middle of a step, the next step has the same bits as
// ever: nothing of the failed one is computed late, with the data of the next.
func TestAFailedStepLeavesNothingBehind(t *testing.T) {
	d := emulated(t, cuda.Options{})
	fake, _ := faking(t)
	s := gputest.Shape{Name: "failed", Vocab: 40, Hidden: 32, Layers: 1, Heads: 4, KVHeads: 2, HeadDim: 8, Intermediate: 24, Context: 256, DType: gpu.BF16}
	p, w := gputest.Build(s, 3)
	spec := gpu.PoolSpec{PageSize: 16, Pages: 24, DType: gpu.BF16, Rows: 16, StepTokens: 256}
	m, err := gputest.Load(d, p, w, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	prompt := func(n int, page int32) gputest.Part {
		tokens := make([]int32, n)
		for i := range tokens {
			tokens[i] = int32((i*7 + n) % (s.Vocab - 1))
		}
		var pages []int32
		for range (n + 15) / 16 {
			pages = append(pages, page)
			page++
		}
		q := gputest.Whole(tokens, pages)
		q.KeepLogits, q.Sample = true, 1
		return q
	}
	// A step that samples one token for each row, and keeps no logits, is a graph.
	graph := []gputest.Part{prompt(1, 1), prompt(1, 2), prompt(1, 3)}
	for i := range graph {
		graph[i].KeepLogits = false
	}
	few, many := []gputest.Part{prompt(1, 1)}, []gputest.Part{prompt(130, 3), prompt(1, 1), prompt(40, 20)}
	run := func(parts []gputest.Part) (logits [][]float32, err error) {
		results, err := gputest.Fresh(m, parts...)
		for _, r := range results {
			logits = append(logits, r.Logits...)
			for _, token := range r.Tokens {
				logits = append(logits, []float32{float32(token)})
			}
		}
		return logits, err
	}
	launches := []string{
		"cuMemcpyHtoDAsync:1=2", "cuMemcpyDtoDAsync:1=2", "cuLaunchKernelEx:1=701", "cuLaunchKernelEx:6=701", "cuLaunchKernelEx:13=701",
		"cuMemcpyDtoHAsync:1=2", "cuEventRecord:1=2", "cuEventSynchronize:1=2",
	}
	graphs := []string{"cuGraphLaunch:1=701", "cuEventRecord:1=2"}
	for _, c := range []struct {
		name          string
		failing, next []gputest.Part
		faults        []string
	}{
		{"few rows, then many", few, many, launches}, {"many rows, then few", many, few, launches},
		{"a graph, then the same", graph, graph, graphs}, {"a graph, then many rows", graph, many, graphs},
	} {
		for _, fault := range c.faults {
			t.Run(c.name+"/"+fault, func(t *testing.T) {
				want, err := run(c.next)
				if err != nil {
					t.Fatal(err)
				}
				// Its exchange buffers are small again and grow between the steps.
				if err := m.NewPool(gputest.Pool(p, spec)); err != nil {
					t.Fatal(err)
				}
				if err := fake.Set(fault); err != nil {
					t.Fatal(err)
				}
				// A step behind it, which computes what it samples, fails along.
				first := &c.failing[0]
				behind := gputest.Batch(gputest.Part{RowWork: gpu.RowWork{Start: first.Count, Count: 1, Sample: 1}})
				ends := make(chan error, 2)
				end := func(_ *gpu.StepResult, err error) { ends <- err }
				m.Submit(gputest.FreshBatch(c.failing...), end)
				m.Submit(behind, end)
				for range 2 {
					if err := <-ends; err == nil {
						t.Fatal("a step does not fail")
					}
				}
				if err := fake.Set("off"); err != nil {
					t.Fatal(err)
				}
				got, err := run(c.next)
				if err != nil {
					t.Fatal(err)
				}
				if err := gputest.Same(got, want); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
