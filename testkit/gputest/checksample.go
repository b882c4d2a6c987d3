package gputest

import (
	"errors"
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

// Table is a program whose logits are known: row t of a table for token t. The table
// has half of each, which a linear doubles, exactly: so logits can be minus infinity
// although weights must be finite.
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
func tablePair(d gpu.Device, seed uint64) (pair, error) {
	p, w := Table(seed)
	return loadPair(d, p, w, gpu.PoolSpec{PageSize: 1, Pages: 1})
}

// tableRow is a row of Table's program that ends with a token: its prompt and
// output, of which penalties know, and how to sample, with settings on and off.
func tableRow(r *rand.Rand, last int32) Part {
	pick := func(xs ...float32) float32 { return xs[r.IntN(len(xs))] }
	s := gpu.Sampling{
		Temperature:       pick(0, 1e-7, 0.01, 0.3, 0.7, 1, 1.3, 2, 100),
		TopP:              pick(1, 1, 0, 0.01, 0.3, 0.9, 0.95, 0.999, 2),
		MinP:              pick(0, 0, 0.01, 0.1, 0.5, 1),
		TopK:              int32(pick(0, 0, 1, 2, 5, 40, 1000, tableVocab-1, tableVocab, 9999)),
		RepetitionPenalty: pick(1, 1, 1.3, 0.7),
		FrequencyPenalty:  pick(0, 0, 0.5, -1.2),
		PresencePenalty:   pick(0, 0, 1.5, -0.4),
		Seed:              r.Uint64(), Choice: uint32(r.IntN(3)), TopLogprobs: -1,
	}
	prompt, output := []int32{int32(r.IntN(tableVocab))}, []int32(nil)
	ids := r.Perm(tableVocab)
	for _, id := range ids[:pickInt(r, 0, 3, 300)] {
		for range r.IntN(4) {
			output = append(output, int32(id))
		}
		if r.IntN(2) == 0 {
			prompt = append(prompt, int32(id))
		}
	}
	if output = append(output, last); r.IntN(4) == 0 {
		prompt, output = append(prompt, output...), nil
	}
	for _, id := range ids[200 : 200+pickInt(r, 0, 0, 5, 100)] {
		s.Bias = append(s.Bias, gpu.TokenBias{Token: int32(id), Bias: pick(-100, -1, 0.5, 3, 100)})
	}
	for _, id := range ids[290 : 290+pickInt(r, 0, 0, 1, 400)] {
		s.EndTokens = append(s.EndTokens, int32(id))
	}
	s.MinTokens = len(output) + r.IntN(2) // masked, or just no longer
	p := Last(prompt, output, sameSlot(len(prompt)+len(output)), s)
	p.Sample = 1
	if r.IntN(3) == 0 {
		bits := make([]uint32, (tableVocab+31)/32)
		for i := range bits {
			bits[i] = r.Uint32() | r.Uint32()
		}
		p.Mask = gpu.Allow(bits)
	}
	return p
}

// sameSlot is a page table of one page of one token for all positions: Table's
// program stores nothing.
func sameSlot(n int) []int32 {
	pages := make([]int32, n)
	for i := range pages {
		pages[i] = 1
	}
	return pages
}

func pickInt(r *rand.Rand, xs ...int) int { return xs[r.IntN(len(xs))] }

// checkSampling compares sampled tokens with those of gpu/ref over random
// settings.
func checkSampling(d gpu.Device) error {
	both, err := tablePair(d, 1)
	if err != nil {
		return err
	}
	defer both.close()
	random := rand.New(rand.NewPCG(1, 6))
	for range 25 {
		var parts []Part
		for range 1 + random.IntN(70) {
			parts = append(parts, tableRow(random, int32(random.IntN(tableVocab))))
		}
		last := Last([]int32{5}, nil, sameSlot(1), gpu.Sampling{Temperature: 1, TopP: 1, RepetitionPenalty: 1, Seed: random.Uint64(), TopLogprobs: -1})
		last.Sample = 1
		parts = append(parts, last)
		got, want, err := both.fresh(parts...)
		if err != nil {
			return err
		}
		for i := range want {
			if !slices.Equal(got[i].Tokens, want[i].Tokens) || !errors.Is(got[i].Err, want[i].Err) {
				s := parts[i].Open.Sampling
				s.Bias, s.EndTokens = nil, nil
				return fmt.Errorf("row %d sampled %v (%v), want %v (%v): logits of sort %d, %+v", i, got[i].Tokens, got[i].Err, want[i].Tokens, want[i].Err,
					lastToken(parts[i])%len(rowKinds), s)
			}
			if got[i].Logprobs != nil || got[i].Logits != nil || got[i].Scores != nil {
				return fmt.Errorf("row %d: results that were not asked for", i)
			}
		}
	}
	return nil
}

func lastToken(p Part) int {
	all := append(slices.Clone(p.Open.Prompt), p.Open.Output...)
	return int(all[len(all)-1])
}

// checkDistribution samples often from a few tokens, over seeds and positions,
// and compares frequencies with weights: the one check that does not rely on
// gpu/ref.
func checkDistribution(d gpu.Device) error {
	p, w := Table(2)
	model, err := Load(d, p, w, gpu.PoolSpec{PageSize: 1, Pages: 1})
	if err != nil {
		return err
	}
	defer model.Close()
	// Bias makes three tokens likely with weights 1 : 2 : 5, the rest hopeless.
	spec := gpu.Sampling{Temperature: 1, TopP: 1, RepetitionPenalty: 1, TopLogprobs: -1}
	weights := map[int32]float64{700: 1, 7: 2, 500: 5}
	for id, w := range weights {
		spec.Bias = append(spec.Bias, gpu.TokenBias{Token: id, Bias: 60 + float32(math.Log(w))})
	}
	const rounds, each = 40, 64
	count := map[int32]float64{}
	for r := range rounds {
		var parts []Part
		for i := range each {
			spec.Seed = uint64(11 + r)
			prompt := make([]int32, 1+i)
			prompt[i] = 2
			part := Last(prompt, nil, sameSlot(len(prompt)), spec)
			part.Sample = 1
			parts = append(parts, part)
		}
		got, err := Fresh(model, parts...)
		if err != nil {
			return err
		}
		for _, g := range got {
			count[g.Tokens[0]]++
		}
	}
	for id, w := range weights {
		n, q := float64(rounds*each), w/8
		if off := math.Abs(count[id]-n*q) / math.Sqrt(n*q*(1-q)); off > 4 {
			return fmt.Errorf("token %d was sampled %v times of %v, want about %v (off by %.1f deviations)", id, count[id], n, n*q, off)
		}
	}
	return nil
}

// checkLogprobs compares Logprobs and Scores with gpu/ref, also where outputs
// are more than a device may take at a time.
func checkLogprobs(d gpu.Device) error {
	both, err := tablePair(d, 3)
	if err != nil {
		return err
	}
	defer both.close()
	random := rand.New(rand.NewPCG(3, 7))
	var parts []Part
	for _, n := range []int{1, 5, 200} {
		tokens := randomTokens(random, tableVocab, n+3)
		part := Last(tokens, nil, sameSlot(n+3), tableRow(random, 0).Open.Sampling)
		part.Start, part.Count, part.Sample, part.KeepLogits = 3, n, 1, n == 5
		part.Grow, part.Open.Pages = sameSlot(n), sameSlot(3)
		part.Open.Sampling.EndTokens, part.Open.Sampling.TopLogprobs = nil, pickInt(random, 0, 5, 20)
		part.Open.Score = gpu.ScoreSpec{From: 2 + n/3, To: n + 3, Top: pickInt(random, 0, 3, 2000)}
		parts = append(parts, part)
	}
	got, want, err := both.fresh(parts...)
	if err != nil {
		return err
	}
	for i := range want {
		if err := Same(got[i].Logits, want[i].Logits); err != nil {
			return err
		}
		g, w := append(slices.Clone(got[i].Scores), got[i].Logprobs...), append(slices.Clone(want[i].Scores), want[i].Logprobs...)
		first := max(4, parts[i].Open.Score.From) // after the cached tokens
		if len(g) != len(w) || len(w) != parts[i].Open.Score.To-first+1 || got[i].ScoredFrom != want[i].ScoredFrom {
			return fmt.Errorf("row %d: %d scores from position %d on, want %d from %d on", i, len(g), got[i].ScoredFrom, len(w), want[i].ScoredFrom)
		}
		for j := range w {
			if err := nearScored(g[j], w[j]); err != nil {
				return fmt.Errorf("row %d, score %d: %w", i, j, err)
			}
		}
	}
	return nil
}

// nearScored: equal tokens in equal order, and log probabilities equal to float32's
// precision.
func nearScored(got, want gpu.Logprobs) error {
	g := append([]gpu.TokenLogprob{got.Chosen}, got.Top...)
	w := append([]gpu.TokenLogprob{want.Chosen}, want.Top...)
	if len(g) != len(w) {
		return fmt.Errorf("%d most likely tokens, want %d", len(got.Top), len(want.Top))
	}
	for i := range w {
		d := math.Abs(float64(g[i].Logprob) - float64(w[i].Logprob))
		if g[i].Token != w[i].Token || g[i].Logprob != w[i].Logprob && !(d <= 1e-6*(1+math.Abs(float64(w[i].Logprob)))) {
			return fmt.Errorf("entry %d is %v, want %v", i, g[i], w[i])
		}
	}
	return nil
}
