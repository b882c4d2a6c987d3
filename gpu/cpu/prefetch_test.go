package cpu

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// A worker prefetches what the first unit of its share reads, for plain products and for
// two whose outputs are multiplied.
func TestLookaheadIsWhatComesNext(t *testing.T) {
	s := gputest.Shape{Name: "ahead", Vocab: 2048, Hidden: 256, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 64, Intermediate: 1024, Context: 64, Bias: true, DType: gpu.BF16}
	for _, threads := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(threads, " threads"), func(t *testing.T) {
			spec := gpu.PoolSpec{PageSize: 16, Pages: 8, DType: gpu.BF16}
			m, _ := load(t, s, Options{Threads: threads}, spec)
			q := prompt(s, spec, 3)
			q.Sample = 1
			if _, err := gputest.Fresh(m, q); err != nil {
				t.Fatal(err)
			}
			step := &m.step
			seen := map[*lookahead]bool{}
			for i, next := range step.next {
				if next == nil || next == step.products[i] {
					t.Fatalf("stage %d has no products after it", i)
				}
				if seen[next] {
					continue
				}
				seen[next] = true
				for worker := range threads {
					firstRead(t, next, worker, threads)
				}
			}
			if want := 2*4 + 1; len(seen) != want { // qkv, o, gate with up, down; logits
				t.Errorf("weights of %d stages are prefetched, want %d", len(seen), want)
			}
		})
	}
}

// firstRead compares with the panels that run takes for the first unit.
func firstRead(t *testing.T, a *lookahead, worker, workers int) {
	t.Helper()
	unit, _ := span(a.now.units, workers, worker)
	for i := range a.ops {
		w := a.ops[i].w
		each := a.now.panels
		n := (len(w.panels)/w.form.PanelBytes(w.cols) + each - 1) / each
		if unit >= n {
			unit -= n
			continue
		}
		run := min(each*w.form.PanelBytes(w.cols), len(w.panel(unit*each)))
		if got := a.bytes(worker, workers, 0); unsafe.SliceData(got) != &w.panel(unit * each)[0] {
			t.Errorf("worker %d of %d: the prefetched memory is not unit %d of product %d", worker, workers, unit, i)
		}
		if a.silu != nil {
			up := a.ops[1].w.panel(unit * each)
			if got := a.bytes(worker, workers, run); unsafe.SliceData(got) != &up[0] {
				t.Errorf("worker %d of %d: after the first product's panels, the prefetched memory is not the second's", worker, workers)
			}
		}
		return
	}
	t.Errorf("unit %d does not belong to a product", unit)
}

// Products of several blocks of tokens do not wait for memory, so nothing is prefetched.
func TestNoLookaheadForLongPrompts(t *testing.T) {
	s := gputest.Shape{Name: "ahead", Vocab: 256, Hidden: 64, Layers: 1, Heads: 2, KVHeads: 1, HeadDim: 32, Intermediate: 128, Context: 512}
	spec := gpu.PoolSpec{PageSize: 16, Pages: 40, DType: gpu.BF16}
	m, _ := load(t, s, Options{Threads: 2}, spec)
	if _, err := gputest.Fresh(m, prompt(s, spec, 2*blockTokens)); err != nil {
		t.Fatal(err)
	}
	step := &m.step
	for i, a := range step.products {
		if a != nil && i < len(step.body) && a.bytes(0, 2, 0) != nil {
			t.Errorf("stage %d: weights are prefetched for %d tokens", i, 2*blockTokens)
		}
	}
}
