package cpu_test

import (
	"math"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/gputest"
	"github.com/troupe-engine/troupe/gpu/ref"
)

func TestSmoke(t *testing.T) {
	for _, s := range []gputest.Shape{
		{Name: "a", Vocab: 97, Hidden: 48, Layers: 2, Heads: 6, KVHeads: 2, HeadDim: 10, Inner: 77, Context: 256, Bias: true},
		{Name: "b", Vocab: 128, Hidden: 64, Layers: 3, Heads: 4, KVHeads: 4, HeadDim: 16, Inner: 100, Context: 256, QKNorm: true, Tied: true, DType: gpu.BF16},
	} {
		p, w := gputest.Build(s, 1)
		spec := gpu.PoolSpec{PageSize: 16, Pages: 20}
		d, err := cpu.New(cpu.Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		a, err := gputest.Load(d, p, w, spec)
		if err != nil {
			t.Fatal(err)
		}
		b, err := gputest.Load(ref.New(), p, w, spec)
		if err != nil {
			t.Fatal(err)
		}
		seq := gpu.Sequence{Pages: []int32{3, 1, 2, 7, 9, 11}, KeepLogits: true, Sample: &gpu.SampleSpec{Temperature: 0.8, TopP: 0.9, RepetitionPenalty: 1, TopLogprobs: 2}}
		for i := range 90 {
			seq.Tokens = append(seq.Tokens, int32(i*7%96))
		}
		ra, err := gputest.Step(a, seq)
		if err != nil {
			t.Fatal(err)
		}
		rb, err := gputest.Step(b, seq)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for i := range ra[0].Logits {
			for j, x := range ra[0].Logits[i] {
				worst = max(worst, math.Abs(float64(x-rb[0].Logits[i][j])))
			}
		}
		t.Log(worst, ra[0].Token, rb[0].Token, ra[0].Chosen, rb[0].Chosen)
		if worst > 1e-4 || ra[0].Token != rb[0].Token {
			t.Error("differs")
		}
		a.Close()
	}
}
