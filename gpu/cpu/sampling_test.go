package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/gpu/rows"
)

// logitSorts are kinds of logits. With 4096 equal ones, shares of them are exact,
// and a goal of top-p is on the border between two candidates.
var logitSorts = []func(*rand.Rand) float32{
	func(r *rand.Rand) float32 { return float32(3 * r.NormFloat64()) },
	func(r *rand.Rand) float32 { return float32(0.1 * r.NormFloat64()) },
	func(r *rand.Rand) float32 { return float32(r.IntN(3)) },
	func(*rand.Rand) float32 { return 2.5 },
	func(r *rand.Rand) float32 { return float32(300 * r.NormFloat64()) },
	func(r *rand.Rand) float32 { return float32(1e30 * r.NormFloat64()) },
	func(r *rand.Rand) float32 {
		if r.IntN(100) > 0 {
			return float32(math.Inf(-1))
		}
		return float32(r.NormFloat64())
	},
}

// Plain Go computes samples and log probabilities as they are defined; the faster
// methods of the other levels must have the same results.
func TestAllLevelsSampleTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var plain, other candidates
	for range 300 {
		x := make([]float32, 4096+r.IntN(2)*r.IntN(3000))
		kind := logitSorts[r.IntN(len(logitSorts))]
		for i := range x {
			x[i] = kind(r)
		}
		s := rows.Sample{Sampling: &gpu.Sampling{RepetitionPenalty: 1, Seed: r.Uint64(), Temperature: []float32{0, 0.01, 0.7, 1, 5}[r.IntN(5)],
			TopP: []float32{1, 1, 0, 0.25, 0.5, 0.95, 0.9999}[r.IntN(7)], TopK: []int32{0, 0, 1, 7, 500}[r.IntN(5)], MinP: []float32{0, 0, 0.05, 1}[r.IntN(4)]}}
		want, err := plain.sample(simd.Portable, x, &s)
		if err != nil {
			t.Fatal(err)
		}
		norm := newNormalizer(simd.Portable, x)
		scored := plain.score(&norm, want, 20)
		for _, level := range simd.Levels()[1:] {
			if got, err := other.sample(level, x, &s); err != nil || got != want {
				t.Fatalf("%s: %+v samples %d (%v) of %d logits like %v, want %d", level, s.Sampling, got, err, len(x), x[:5], want)
			}
			norm := newNormalizer(level, x)
			got := other.score(&norm, want, 20)
			for i, w := range scored.Top {
				if got.Chosen != scored.Chosen || got.Top[i] != w {
					t.Fatalf("%s: log probability %v and number %d %v, want %v and %v", level, got.Chosen, i, got.Top[i], scored.Chosen, w)
				}
			}
		}
	}
}
