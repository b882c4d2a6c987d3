package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/roofline"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// onlyAttention is a program of attention and the ops that every program must have.
func onlyAttention(layers, heads, kvHeads, dim int) (*gpu.Program, gputest.Tensors) {
	const vocab = 4
	p := &gpu.Program{
		Name: "attention", Vocab: vocab, Context: 1 << 16, KV: gpu.KVSpec{Layers: layers, Heads: kvHeads, HeadDim: dim},
		Buffers: []gpu.BufferSpec{{Name: "q", Width: heads * dim}, {Name: "k", Width: kvHeads * dim}, {Name: "attended", Width: heads * dim},
			{Name: "logits", Width: vocab, PerOutput: true}, {Name: "last", Width: heads * dim, PerOutput: true}},
		Ops: []gpu.Op{gpu.Embed{Table: 0, Out: 0}, gpu.Embed{Table: 1, Out: 1}},
	}
	w := gputest.Tensors{}
	r := rand.New(rand.NewPCG(1, 1))
	for _, t := range []struct {
		name  string
		width int
	}{{"q", heads * dim}, {"k", kvHeads * dim}, {"out", heads * dim}} {
		x := gpu.Tensor{Name: t.name, Shape: []int{vocab, t.width}}
		for range vocab * t.width {
			x.Data = append(x.Data, byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32()), 0x3d+0x80*byte(r.IntN(2)))
		}
		w[t.name] = x
		p.Weights = append(p.Weights, gpu.WeightSpec{Name: t.name, Shape: x.Shape})
	}
	for l := range layers {
		p.Ops = append(p.Ops, gpu.StoreKV{K: 1, V: 1, Layer: l}, gpu.Attention{Q: 0, Out: 2, Layer: l, Heads: heads, Scale: 0.1})
	}
	p.Ops = append(p.Ops, gpu.Gather{In: 2, Out: 4}, gpu.Linear{In: 4, Out: 3, W: 2, Bias: gpu.NoWeight}, gpu.Sample{Logits: 3})
	return p, w
}

// loadAttention fills the pool with numbers of about 0.1.
func loadAttention(b *testing.B, level simd.Level, threads int, spec gpu.PoolSpec, layers, heads, kvHeads, dim int) *model {
	p, w := onlyAttention(layers, heads, kvHeads, dim)
	m := loadProgram(b, Options{Threads: threads, InstructionSet: level.String()}, p, w, spec)
	pattern := make([]byte, 1<<16)
	r := rand.New(rand.NewPCG(2, 2))
	for i := range pattern {
		if pattern[i] = byte(r.Uint32()); i%spec.DType.Bytes(1) == spec.DType.Bytes(1)-1 && spec.DType != gpu.I8 {
			pattern[i] = 0x3d + 0x80*byte(r.IntN(2))
		}
	}
	for at := 0; at < len(m.pool.mem); {
		at += copy(m.pool.mem[at:], pattern)
	}
	for i := range m.pool.scales {
		m.pool.scales[i] = 0.01
	}
	return m
}

// stepTime is the processor time of a step, over 100 ms of them.
func stepTime(b *testing.B, m *model, batch *gpu.StepBatch) time.Duration {
	ended := make(chan error, 1)
	steps, start := 0, measure.CPUTime()
	for {
		m.Submit(batch, func(_ *gpu.StepResult, err error) { ended <- err })
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
		steps++
		if used := measure.CPUTime() - start; used > 100*time.Millisecond {
			return used / time.Duration(steps)
		}
	}
}

// compared runs two functions in turns and reports the rate of the first and its
// share of the second, medians of seven.
func compared(b *testing.B, unit string, work float64, do func() time.Duration, most float64, peak func() time.Duration) {
	do()
	var rates, shares []float64
	for range 7 {
		rate := work / do().Seconds()
		rates, shares = append(rates, rate/1e9), append(shares, 100*rate/(most/peak().Seconds()))
	}
	slices.Sort(rates)
	slices.Sort(shares)
	b.ReportMetric(rates[3], unit)
	b.ReportMetric(shares[3], "%")
	b.ReportMetric(0, "ns/op")
}

// The read rate of decode from the KV pool, as a share of the level's memory bandwidth.
// The pool is larger than any cache.
func BenchmarkAttentionDecode(b *testing.B) {
	memory := make([]byte, 1<<30)
	for i := range memory {
		memory[i] = byte(i)
	}
	for _, level := range simd.Levels() {
		for _, s := range []struct{ heads, kvHeads, dim int }{{14, 2, 64}, {12, 2, 128}, {8, 8, 128}} {
			for _, kv := range gpu.KVDTypes() {
				for _, context := range []int{1024, 8192} {
					name := fmt.Sprintf("%s/%dx%dx%d/%s/%d", level, s.heads, s.kvHeads, s.dim, kv, context)
					b.Run(name, func(b *testing.B) {
						const pool = 1 << 29
						token := 2 * s.kvHeads * kv.VectorBytes(s.dim)
						layers := max(1, pool/(token*8192))
						sequences := 8192 / context
						spec := gpu.PoolSpec{PageSize: 16, Pages: 8192/16 + sequences, DType: kv}
						m := loadAttention(b, level, 1, spec, layers, s.heads, s.kvHeads, s.dim)
						var parts []gputest.Part
						pages, each := rand.New(rand.NewPCG(3, 3)).Perm(spec.Pages), context/16
						for i := range sequences { // each computes the token after a cached context
							q := gputest.Whole(make([]int32, context+1), []int32{int32(pages[len(pages)-1-i] + 1)})
							for _, page := range pages[i*each : (i+1)*each] {
								q.Open.Pages = append(q.Open.Pages, int32(page+1))
							}
							q.Start, q.Count = context, 1
							parts = append(parts, q)
						}
						batch := gputest.FreshBatch(parts...)
						compared(b, "GB/s", float64(layers)*8192*float64(token), func() time.Duration { return stepTime(b, m, batch) },
							float64(len(memory)), func() time.Duration {
								start := measure.CPUTime()
								roofline.ReadSum(level, memory)
								return measure.CPUTime() - start
							})
					})
				}
			}
		}
	}
}

// Operations per second of a prompt's attention, as a share of the level's peak.
func BenchmarkAttentionPrefill(b *testing.B) {
	for _, level := range simd.Levels() {
		for _, s := range []struct{ heads, kvHeads, dim int }{{14, 2, 64}, {12, 2, 128}, {8, 8, 128}} {
			for _, kv := range []gpu.DType{gpu.F32, gpu.BF16, gpu.I8} {
				for _, n := range []int{512, 2048} {
					b.Run(fmt.Sprintf("%s/%dx%dx%d/%s/%d", level, s.heads, s.kvHeads, s.dim, kv, n), func(b *testing.B) {
						spec := gpu.PoolSpec{PageSize: 16, Pages: n / 16, DType: kv}
						m := loadAttention(b, level, 1, spec, 4, s.heads, s.kvHeads, s.dim)
						q := gputest.Whole(make([]int32, n), nil)
						for i := range spec.Pages {
							q.Grow = append(q.Grow, int32(i+1))
						}
						batch := gputest.FreshBatch(q)
						// A multiplication and an addition each for q.k and for p v.
						work := 4 * 4 * float64(s.heads*s.dim) * float64(n) * float64(n+1) / 2
						const rounds = 1 << 20
						compared(b, "GFLOP/s", work, func() time.Duration { return stepTime(b, m, batch) },
							float64(roofline.MultiplyAdds(level, rounds)), func() time.Duration {
								start := measure.CPUTime()
								roofline.MultiplyAdds(level, rounds)
								return measure.CPUTime() - start
							})
					})
				}
			}
		}
	}
}
