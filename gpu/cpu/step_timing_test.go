package cpu

import (
	"fmt"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/roofline"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/gpu/rows"
	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// The shapes whose speed is documented.
var timed = []gputest.Shape{
	{Name: "260K", Vocab: 512, Hidden: 64, Layers: 5, Heads: 8, KVHeads: 4, HeadDim: 8, Intermediate: 172, Context: 512, Tied: true},
	{Name: "2M", Vocab: 1024, Hidden: 192, Layers: 7, Heads: 6, KVHeads: 3, HeadDim: 32, Intermediate: 512, Context: 1024, Tied: true, DType: gpu.BF16},
	{Name: "0.5B-layer", Vocab: 1000, Hidden: 896, Layers: 1, Heads: 14, KVHeads: 2, HeadDim: 64, Intermediate: 4864, Context: 2048, Bias: true, DType: gpu.BF16},
}

// benchmark runs steps of sequences at position 128 and reports tokens per
// second.
func benchmark(b *testing.B, s gputest.Shape, o Options, sequences, tokens int) {
	benchmarkFrom(b, s, o, gpu.Contiguous, sequences, tokens, 128)
}

func benchmarkFrom(b *testing.B, s gputest.Shape, o Options, layout gpu.Layout, sequences, tokens, start int) {
	spec := gpu.PoolSpec{PageSize: 16, DType: gpu.BF16, Layout: layout}
	each := (start + tokens + 15) / 16
	spec.Pages = sequences * each
	m, _ := load(b, s, o, spec)
	var parts []gputest.Part
	for i := range sequences {
		q := prompt(s, spec, start+tokens)
		q.Grow = q.Grow[:each]
		for j := range q.Grow {
			q.Grow[j] = int32(i*each + j + 1)
		}
		head := q
		head.Count = start
		if _, err := gputest.Fresh(m, head); err != nil {
			b.Fatal(err)
		}
		q.Open.Pages, q.Grow = q.Grow[:start/spec.PageSize], q.Grow[start/spec.PageSize:]
		q.Start, q.Count, q.Sample = start, tokens, 1
		q.Open.Sampling = gpu.Sampling{Temperature: 0.8, TopP: 0.95, RepetitionPenalty: 1, TopLogprobs: -1}
		parts = append(parts, q)
	}
	batch := gputest.FreshBatch(parts...)
	ended := make(chan error, 1)
	b.ReportAllocs()
	before := measure.CPUTime()
	for b.Loop() {
		m.Submit(batch, func(_ *gpu.StepResult, err error) { ended <- err })
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
	all := float64(sequences * tokens * b.N)
	b.ReportMetric(all/b.Elapsed().Seconds(), "tokens/s")
	// Compare processor time if other processes also run.
	b.ReportMetric(float64((measure.CPUTime()-before).Nanoseconds())/1e3/all, "cpu-us/token")
}

func BenchmarkStep(b *testing.B) {
	for _, s := range timed {
		for _, threads := range []int{1, 2} {
			o := Options{Threads: threads}
			for _, n := range []int{1, 8, 64} {
				b.Run(fmt.Sprintf("%s/threads-%d/decode-%d", s.Name, threads, n), func(b *testing.B) { benchmark(b, s, o, n, 1) })
			}
			b.Run(fmt.Sprintf("%s/threads-%d/prefill-256", s.Name, threads), func(b *testing.B) { benchmark(b, s, o, 1, 256) })
		}
	}
}

// The cost of the pool's layout for attention over a long context.
func BenchmarkLayout(b *testing.B) {
	for _, layout := range []gpu.Layout{gpu.Contiguous, gpu.Paged} {
		for _, n := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/decode-%d", layout, n), func(b *testing.B) {
				benchmarkFrom(b, timed[1], Options{Threads: 1}, layout, n, 1, 960)
			})
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	s := timed[1]
	d, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	p, w := gputest.Build(s, 1)
	b.ReportAllocs()
	for b.Loop() {
		m, err := d.Load(p, w, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	x := make([]float32, 151_936)
	for i := range x {
		x[i] = float32(i*7919%10007) / 1000
	}
	var c candidates
	for name, sampling := range map[string]gpu.Sampling{
		"greedy":           {},
		"temperature":      {Temperature: 0.8, TopP: 1},
		"top-p":            {Temperature: 0.8, TopP: 0.95},
		"top-k 40":         {Temperature: 0.8, TopP: 1, TopK: 40},
		"top-k 40 penalty": {Temperature: 0.8, TopP: 0.95, TopK: 40, PresencePenalty: 1},
	} {
		sampling.RepetitionPenalty = 1
		s := rows.Sample{Sampling: &sampling}
		if sampling.PresencePenalty > 0 {
			s.History = []rows.TokenCount{{Token: 1, Output: 1}}
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Position++
				if _, err := c.sample(simd.Best(), x, &s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Decode reads every weight once a step. This measures the share of the bandwidth that a
// step of one worker reaches: its processor time against that of reading the same
// bytes, at a size larger than the caches, a quarter of a 1.5B model. It also compares
// prefill with the peak of multiply-adds.
func BenchmarkShareOfTheMachine(b *testing.B) {
	s := gputest.Shape{Name: "1.5B/4", Vocab: 20_000, Hidden: 1536, Layers: 7, Heads: 12, KVHeads: 2, HeadDim: 128, Intermediate: 8960, Context: 2048, Tied: true, Bias: true, DType: gpu.BF16}
	for _, dtype := range []gpu.DType{gpu.BF16, gpu.Q8_0} {
		s.DType = dtype
		p, w := gputest.Build(s, 1)
		for _, level := range simd.Levels()[1:] {
			d, err := New(Options{Threads: 1, InstructionSet: level.String()})
			if err != nil {
				b.Fatal(err)
			}
			spec := gpu.PoolSpec{PageSize: 16, Pages: 40, DType: gpu.BF16}
			loaded, err := gputest.Load(d, p, w, spec)
			if err != nil {
				b.Fatal(err)
			}
			m := loaded.(*model)
			for _, tokens := range []int{1, 4, 8, 512} {
				b.Run(fmt.Sprintf("%s/%s/tokens-%d", dtype, level, tokens), func(b *testing.B) { shareOf(b, m, tokens) })
			}
			if err := m.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func shareOf(b *testing.B, m *model, tokens int) {
	part := prompt(gputest.Shape{Vocab: m.program.Vocab}, m.pool.spec, tokens)
	part.Sample = 1
	used := func(f func()) float64 {
		before := measure.CPUTime()
		f()
		return (measure.CPUTime() - before).Seconds()
	}
	const rounds = 1 << 22
	var step, read, peak float64
	var bytes, weights int
	for b.Loop() {
		step += used(func() {
			if _, err := gputest.Fresh(m, part); err != nil {
				b.Fatal(err)
			}
		})
		for i := range m.weights.all {
			w := &m.weights.all[i]
			if i > 0 { // the embedding, once as the output
				weights += w.rows * w.cols
			}
		}
		bytes += len(m.weights.arena)
		read += used(func() { roofline.ReadSum(simd.Best(), m.weights.arena[:len(m.weights.arena)&^511]) })
		peak += used(func() { roofline.MultiplyAdds(m.level, rounds) })
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(bytes)/step/1e9, "GB/s")
	b.ReportMetric(100*read/step, "%-of-reading")
	flops := float64(roofline.MultiplyAdds(m.level, rounds)*b.N) / peak
	b.ReportMetric(100*2*float64(weights*tokens)/step/flops, "%-of-multiplying")
}
