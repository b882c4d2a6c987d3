package gputest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
)

// tableVocab is the vocabulary of Table's program; odd, and larger than what a
// device may sort in one go.
const tableVocab = 701

// rowKinds are the sorts of logits in Table's rows, by token modulo their count.
var rowKinds = []func(*rand.Rand) float32{
	func(r *rand.Rand) float32 { return float32(3 * r.NormFloat64()) },
	func(r *rand.Rand) float32 { return float32(r.IntN(4)) }, // ties
	func(*rand.Rand) float32 { return 1.5 },                  // nothing but ties
	func(r *rand.Rand) float32 { return float32(40 * r.NormFloat64()) },
	func(r *rand.Rand) float32 { return float32(0.01 * r.NormFloat64()) },
	func(r *rand.Rand) float32 { // most are impossible
		if r.IntN(50) > 0 {
			return float32(math.Inf(-1))
		}
		return float32(r.NormFloat64())
	},
	func(r *rand.Rand) float32 { return float32(1e30 * r.NormFloat64()) },
}

// Table is a program whose logits are known: row t of a table for token t. The
// table holds half of each, which a linear doubles, exactly: logits of minus
// infinity come about by that, for weights must be finite.
func Table(seed uint64) (*gpu.Program, Tensors) {
	random := rand.New(rand.NewPCG(seed, 5))
	halves, double := make([]float32, tableVocab*tableVocab), make([]float32, tableVocab*tableVocab)
	for i := range halves {
		halves[i] = max(rowKinds[i/tableVocab%len(rowKinds)](random)/2, -math.MaxFloat32)
	}
	for i := range tableVocab {
		double[i*tableVocab+i] = 2
	}
	shape := []int{tableVocab, tableVocab}
	p := &gpu.Program{
		Name: "table", Vocab: tableVocab, Context: 4096,
		Buffers: []gpu.BufferSpec{{Name: "x", Width: tableVocab}, {Name: "last", Width: tableVocab, PerOutput: true},
			{Name: "logits", Width: tableVocab, PerOutput: true}},
		Weights: []gpu.WeightSpec{{Name: "table", Shape: shape}, {Name: "double", Shape: shape}},
		Ops: []gpu.Op{gpu.Embed{Table: 0, Out: 0}, gpu.Gather{In: 0, Out: 1},
			gpu.Linear{In: 1, Out: 2, W: 1, Bias: gpu.NoWeight}, gpu.Sample{Logits: 2}},
	}
	return p, Tensors{"table": floats(halves, shape...), "double": floats(double, shape...)}
}

// tablePair loads Table on a device and on gpu/ref.
func tablePair(d gpu.Device, seed uint64, pages int) (pair, error) {
	p, w := Table(seed)
	return loadPair(d, p, w, gpu.PoolSpec{PageSize: 16, Pages: pages})
}

// randomSample draws a SampleSpec with settings on and off.
func randomSample(r *rand.Rand) *gpu.SampleSpec {
	pick := func(xs ...float32) float32 { return xs[r.IntN(len(xs))] }
	s := &gpu.SampleSpec{
		Temperature:       pick(0, 1e-7, 0.01, 0.3, 0.7, 1, 1.3, 2, 100),
		TopP:              pick(1, 1, 0, 0.01, 0.3, 0.9, 0.95, 0.999, 2),
		MinP:              pick(0, 0, 0.01, 0.1, 0.5, 1),
		TopK:              int32(pick(0, 0, 1, 2, 5, 40, 1000, tableVocab-1, tableVocab, 9999)),
		RepetitionPenalty: pick(1, 1, 1.3, 0.7),
		FrequencyPenalty:  pick(0, 0, 0.5, -1.2),
		PresencePenalty:   pick(0, 0, 1.5, -0.4),
		Seed:              r.Uint64(), Choice: uint32(r.IntN(3)), Position: r.IntN(5000), TopLogprobs: -1,
	}
	ids := r.Perm(tableVocab)
	for _, id := range ids[:pickInt(r, 0, 3, 300)] {
		s.History = append(s.History, gpu.TokenCount{Token: int32(id), Output: int32(r.IntN(4)), InPrompt: r.IntN(2) == 0})
	}
	for _, id := range ids[200 : 200+pickInt(r, 0, 0, 5, 100)] {
		s.Bias = append(s.Bias, gpu.TokenBias{Token: int32(id), Bias: pick(-100, -1, 0.5, 3, 100)})
	}
	for _, id := range ids[290 : 290+pickInt(r, 0, 0, 1, 400)] {
		s.Mask = append(s.Mask, int32(id))
	}
	return s
}

func pickInt(r *rand.Rand, xs ...int) int { return xs[r.IntN(len(xs))] }

// checkSampling compares draws with gpu/ref over random settings.
func checkSampling(d gpu.Device) error {
	both, err := tablePair(d, 1, 1)
	if err != nil {
		return err
	}
	defer both.close()
	random := rand.New(rand.NewPCG(1, 6))
	for range 25 {
		var batch []gpu.Sequence
		for range 1 + random.IntN(70) {
			token := int32(random.IntN(tableVocab))
			if token%int32(len(rowKinds)) == 5 {
				token++ // may leave nothing to draw; has its own case below
			}
			batch = append(batch, gpu.Sequence{Pages: []int32{1}, Tokens: []int32{token}, Sample: randomSample(random)})
		}
		batch = append(batch, gpu.Sequence{Pages: []int32{1}, Tokens: []int32{5}, Sample: &gpu.SampleSpec{
			Temperature: 1, TopP: 1, RepetitionPenalty: 1, Seed: random.Uint64(), TopLogprobs: -1}})
		got, want, err := both.step(batch...)
		if err != nil {
			return err
		}
		for i := range want {
			if got[i].Token != want[i].Token {
				s := *batch[i].Sample
				s.History, s.Bias, s.Mask = nil, nil, nil
				return fmt.Errorf("sequence %d drew %d, want %d: logits of sort %d, %+v", i, got[i].Token, want[i].Token,
					int(batch[i].Tokens[0])%len(rowKinds), s)
			}
			if got[i].Chosen != nil || got[i].Logits != nil || got[i].Scores != nil {
				return fmt.Errorf("sequence %d: results that were not asked for", i)
			}
		}
	}
	return nil
}

// checkDistribution draws often from a few tokens and compares frequencies with
// weights: the one check that does not lean on gpu/ref.
func checkDistribution(d gpu.Device) error {
	p, w := Table(2)
	model, err := Load(d, p, w, gpu.PoolSpec{PageSize: 16, Pages: 1})
	if err != nil {
		return err
	}
	defer model.Close()
	// Bias makes three tokens likely with weights 1 : 2 : 5, the rest hopeless.
	spec := gpu.SampleSpec{Temperature: 1, TopP: 1, RepetitionPenalty: 1, Seed: 11, TopLogprobs: -1}
	weights := map[int32]float64{700: 1, 7: 2, 500: 5}
	for id, w := range weights {
		spec.Bias = append(spec.Bias, gpu.TokenBias{Token: id, Bias: 60 + float32(math.Log(w))})
	}
	const rounds, each = 40, 64
	count := map[int32]float64{}
	for r := range rounds {
		var batch []gpu.Sequence
		for i := range each {
			s := spec
			s.Position = r*each + i
			batch = append(batch, gpu.Sequence{Pages: []int32{1}, Tokens: []int32{2}, Sample: &s})
		}
		got, err := Step(model, batch...)
		if err != nil {
			return err
		}
		for _, g := range got {
			count[g.Token]++
		}
	}
	for id, w := range weights {
		n, q := float64(rounds*each), w/8
		if off := math.Abs(count[id]-n*q) / math.Sqrt(n*q*(1-q)); off > 4 {
			return fmt.Errorf("token %d was drawn %v times of %v, want about %v (off by %.1f deviations)", id, count[id], n, n*q, off)
		}
	}
	return nil
}

// checkLogprobs compares Chosen and Scores with gpu/ref, also where outputs are
// more than a device may take at a time.
func checkLogprobs(d gpu.Device) error {
	both, err := tablePair(d, 3, 16)
	if err != nil {
		return err
	}
	defer both.close()
	random := rand.New(rand.NewPCG(3, 7))
	var batch []gpu.Sequence
	for _, n := range []int{1, 5, 200} {
		q := gpu.Sequence{Pages: []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, Tokens: randomTokens(random, tableVocab, n), Start: 3, Sample: randomSample(random)}
		q.Sample.Mask, q.Sample.TopLogprobs = nil, pickInt(random, 0, 5, 20)
		q.Score = &gpu.ScoreSpec{From: 3 + n/3, Targets: randomTokens(random, tableVocab, n-n/3), Top: pickInt(random, 0, 3, 2000)}
		q.KeepLogits = n == 5
		batch = append(batch, q)
	}
	got, want, err := both.step(batch...)
	if err != nil {
		return err
	}
	for i := range want {
		if err := Same(got[i].Logits, want[i].Logits); err != nil {
			return err
		}
		g, w := append(slices.Clone(got[i].Scores), *got[i].Chosen), append(slices.Clone(want[i].Scores), *want[i].Chosen)
		if len(g) != len(w) {
			return fmt.Errorf("sequence %d: %d scores, want %d", i, len(g), len(w))
		}
		for j := range w {
			if err := nearScored(g[j], w[j]); err != nil {
				return fmt.Errorf("sequence %d, score %d: %w", i, j, err)
			}
		}
	}
	return nil
}

// nearScored wants equal tokens in equal order and log probabilities to
// float32's precision.
func nearScored(got, want gpu.Scored) error {
	g := append([]gpu.TokenLogprob{{Token: got.Token, Logprob: got.Logprob}}, got.Top...)
	w := append([]gpu.TokenLogprob{{Token: want.Token, Logprob: want.Logprob}}, want.Top...)
	if len(g) != len(w) {
		return fmt.Errorf("%d likeliest tokens, want %d", len(got.Top), len(want.Top))
	}
	for i := range w {
		d := math.Abs(float64(g[i].Logprob) - float64(w[i].Logprob))
		if g[i].Token != w[i].Token || g[i].Logprob != w[i].Logprob && !(d <= 1e-6*(1+math.Abs(float64(w[i].Logprob)))) {
			return fmt.Errorf("entry %d is %v, want %v", i, g[i], w[i])
		}
	}
	return nil
}
