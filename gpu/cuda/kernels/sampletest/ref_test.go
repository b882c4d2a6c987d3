package sampletest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// Tokens and log probabilities are those of gpu/ref, for logits, histories and settings of
// every kind. Sums are rounded differently there, so a number that is just between two
// tokens could give another one; it does not happen with these seeds.
func TestAgainstRef(t *testing.T) {
	r := start(t, program(t, mainSources, home, cudaemu.Plain))
	for _, c := range []struct{ vocab, steps, parts int }{
		{1, 4, 4}, {2, 10, 16}, {31, 10, 16}, {32, 10, 16}, {33, 10, 16}, {97, 10, 24}, {701, 8, 24}, {1025, 8, 24}, {32000, 2, 8},
	} {
		t.Run(fmt.Sprint(c.vocab), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(c.vocab), 1))
			tokens, scores := 0, 0
			for range c.steps {
				w := newWorld(t, c.vocab, random)
				for i := range c.parts {
					w.add(i)
				}
				w.compare(t, r, random)
				tokens, scores = tokens+c.parts, scores+w.step.scoreResults
			}
			t.Logf("%d tokens, %d log probabilities", tokens, scores)
		})
	}
}

// kinds are the sorts of logits in a row of the table.
var kinds = []func(*rand.Rand) float32{
	func(r *rand.Rand) float32 { return float32(3 * r.NormFloat64()) },
	func(r *rand.Rand) float32 { return float32(r.IntN(4)) }, // ties
	func(*rand.Rand) float32 { return 1.5 },                  // nothing but ties
	func(r *rand.Rand) float32 { return float32(40 * r.NormFloat64()) },
	func(r *rand.Rand) float32 { return float32(0.01 * r.NormFloat64()) },
	func(r *rand.Rand) float32 { return float32(r.NormFloat64()) * float32(r.IntN(2)) },
	func(r *rand.Rand) float32 { return float32(1e30 * r.NormFloat64()) },
	func(r *rand.Rand) float32 { // most are impossible
		if r.IntN(50) > 0 {
			return float32(math.Inf(-1))
		}
		return float32(r.NormFloat64())
	},
}

// world is a program whose logits are known: kind t modulo their number after token t.
// gpu/ref runs it, and step is the same work for the kernels.
type world struct {
	vocab  int
	random *rand.Rand
	model  gpu.Model
	parts  []gputest.Part
	step   step
}

// newWorld makes the program: the embedding of a token has a 2 at its kind, and an output
// matrix has half of each logit. So logits can be minus infinity, although weights are finite.
func newWorld(t *testing.T, vocab int, random *rand.Rand) *world {
	t.Helper()
	width := len(kinds)
	table, halves := make([]float32, vocab*width), make([]float32, vocab*width)
	for id := range vocab {
		table[id*width+id%width] = 2
		for k, kind := range kinds {
			halves[id*width+k] = max(kind(random)/2, -math.MaxFloat32)
		}
	}
	shape := []int{vocab, width}
	p := &gpu.Program{
		Name: "kinds", Vocab: vocab, Context: 4096,
		Buffers: []gpu.BufferSpec{{Name: "x", Width: width}, {Name: "last", Width: width, PerOutput: true}, {Name: "logits", Width: vocab, PerOutput: true}},
		Weights: []gpu.WeightSpec{{Name: "table", Shape: shape}, {Name: "halves", Shape: shape}},
		Ops: []gpu.Op{gpu.Embed{Table: 0, Out: 0}, gpu.Gather{In: 0, Out: 1},
			gpu.Linear{In: 1, Out: 2, W: 1, Bias: gpu.NoWeight}, gpu.Sample{Logits: 2}},
	}
	model, err := gputest.Load(ref.New(), p, gputest.Tensors{"table": tensor(table, shape), "halves": tensor(halves, shape)}, gpu.PoolSpec{PageSize: 1, Pages: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return &world{vocab: vocab, random: random, model: model, step: step{vocab: vocab}}
}

func tensor(x []float32, shape []int) gpu.Tensor {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return gpu.Tensor{Shape: shape, Data: data}
}

func pick[T any](r *rand.Rand, xs ...T) T { return xs[r.IntN(len(xs))] }

// add adds a row that samples one token and may score its prompt.
func (w *world) add(row int) {
	r, s := w.random, &w.step
	sampling := gpu.Sampling{
		Temperature:       pick[float32](r, 0, 9e-7, 0.01, 0.3, 0.7, 1, 1, 1.3, 2, 100),
		TopP:              pick[float32](r, 1, 1, 0, 0.01, 0.3, 0.9, 0.95, 0.999, 2),
		MinP:              pick[float32](r, 0, 0, 0.01, 0.1, 0.5, 1),
		TopK:              pick(r, 0, 0, 1, 2, 5, 40, 1000, int32(w.vocab)-1, int32(w.vocab), 1<<30),
		RepetitionPenalty: pick[float32](r, 1, 1, 1.3, 0.7),
		FrequencyPenalty:  pick[float32](r, 0, 0, 0.5, -1.2),
		PresencePenalty:   pick[float32](r, 0, 0, 1.5, -0.4),
		Seed:              r.Uint64(), Choice: uint32(r.IntN(3)),
		TopLogprobs: pick(r, -1, -1, 0, 5, 20, 50),
	}
	prompt := []int32{int32(r.IntN(w.vocab))}
	for range pick(r, 0, 2, 20) {
		prompt = append(prompt, int32(r.IntN(w.vocab)))
	}
	var output []int32
	for range pick(r, 0, 0, 1, 20) {
		output = append(output, int32(r.IntN(min(w.vocab, 40))))
	}
	n := len(prompt) + len(output)
	for _, id := range r.Perm(w.vocab)[:min(w.vocab, pick(r, 0, 0, 5, 50))] {
		sampling.Bias = append(sampling.Bias, gpu.TokenBias{Token: int32(id), Bias: pick[float32](r, -100, -1, 0.5, 3, 100)})
	}
	for _, id := range r.Perm(w.vocab)[:min(w.vocab, pick(r, 0, 0, 1, 400))] {
		sampling.EndTokens = append(sampling.EndTokens, int32(id))
	}
	sampling.MinTokens = len(output) + r.IntN(2) // masked, or just no longer
	part := gputest.Whole(prompt, make([]int32, n))
	for i := range part.Grow {
		part.Grow[i] = 1 // the program stores nothing
	}
	part.Open.Output, part.Open.Sampling = output, sampling
	part.Count, part.Sample, part.KeepLogits = n, 1, true
	if n > 1 && r.IntN(3) == 0 {
		part.Open.Score = gpu.ScoreSpec{From: 1, To: n, Top: pick(r, 0, 3, 2000)}
	}
	if r.IntN(3) == 0 {
		bits := make([]uint32, (w.vocab+31)/32)
		for i := range bits {
			bits[i] = r.Uint32() | r.Uint32()*uint32(r.IntN(2))
		}
		part.Mask = gpu.Allow(bits)
	}
	w.parts = append(w.parts, part)

	spec := sampleSpec{
		Output: int32(s.outputs + n - 1), Row: int32(row), Temperature: sampling.Temperature, TopP: sampling.TopP, MinP: sampling.MinP, TopK: sampling.TopK,
		Repetition: sampling.RepetitionPenalty, Frequency: sampling.FrequencyPenalty, Presence: sampling.PresencePenalty,
		HistoryAt: int32(len(s.history)), BiasAt: int32(len(s.bias)), MaskedAt: int32(len(s.masked)), Allowed: -1,
		Score: -1, Choice: sampling.Choice, Seed: sampling.Seed, Position: uint64(n),
	}
	counts := map[int32]*tokenCount{}
	count := func(id int32) *tokenCount {
		if counts[id] == nil {
			counts[id] = &tokenCount{Token: id}
		}
		return counts[id]
	}
	for _, id := range prompt {
		count(id).InPrompt = 1
	}
	for _, id := range output {
		count(id).Output++
	}
	for _, c := range counts {
		s.history = append(s.history, *c)
	}
	for _, b := range sampling.Bias {
		s.bias = append(s.bias, tokenBias{b.Token, b.Bias})
	}
	if len(output) < sampling.MinTokens {
		s.masked = append(s.masked, sampling.EndTokens...)
	}
	spec.HistoryN, spec.BiasN, spec.MaskedN = int32(len(s.history))-spec.HistoryAt, int32(len(s.bias))-spec.BiasAt, int32(len(s.masked))-spec.MaskedAt
	if part.Mask != nil {
		bits, _, _ := part.Mask.Bits()
		spec.Allowed = int32(len(s.allowed))
		s.allowed = append(s.allowed, bits...)
	}
	all := slices.Concat(prompt, output)
	for i := part.Open.Score.From; i < part.Open.Score.To; i++ {
		s.scores = append(s.scores, scoreSpec{int32(s.outputs + i - 1), all[i], int32(part.Open.Score.Top), 0})
	}
	if sampling.TopLogprobs >= 0 {
		spec.Score, spec.Top = 0, int32(sampling.TopLogprobs) // numbered in compare
	}
	s.samples = append(s.samples, spec)
	s.outputs += n
	s.rows++
}

// compare runs the step on both sides.
func (w *world) compare(t *testing.T, r *runner, random *rand.Rand) {
	t.Helper()
	want, err := gputest.Fresh(w.model, w.parts...)
	if err != nil {
		t.Fatal(err)
	}
	s := &w.step
	for _, res := range want {
		for _, logits := range res.Logits {
			s.logits = append(s.logits, logits...)
		}
	}
	place := func(top, at *int32) {
		*at = int32(s.entries)
		s.entries += min(int(*top), w.vocab)
	}
	for i := range s.scores {
		place(&s.scores[i].Top, &s.scores[i].TopAt)
	}
	s.scoreResults = len(s.scores)
	for i := range s.samples {
		if s.samples[i].Score >= 0 {
			s.samples[i].Score = int32(s.scoreResults)
			s.scoreResults++
			place(&s.samples[i].Top, &s.samples[i].TopAt)
		}
	}
	s.threads, s.schedule = pick(random, 64, 96, 512), random.IntN(1000)
	s.sampleGrid, s.scoreGrid = 1+random.IntN(len(s.samples)+2), 1+random.IntN(len(s.samples)+len(s.scores)+2)
	got, err := r.run(s)
	if err != nil {
		t.Fatal(err)
	}
	at := 0 // in scores
	for i, res := range want {
		spec, g := s.samples[i], got.samples[i]
		switch {
		case errors.Is(res.Err, gpu.ErrNothingToSample):
			if g.Status != 1 || got.sampled[i] != 0 {
				t.Errorf("row %d: %+v, want nothing to sample", i, g)
			}
		case g.Status != 0 || g.Token != res.Tokens[0] || got.sampled[i] != g.Token:
			t.Errorf("row %d: %+v (%d), want token %d: %+v", i, g, got.sampled[i], res.Tokens[0], spec)
		}
		for _, score := range res.Scores {
			near(t, got, at, int(s.scores[at].TopAt), score)
			at++
		}
		for _, score := range res.Logprobs {
			near(t, got, int(spec.Score), int(spec.TopAt), score)
		}
	}
	if at != len(s.scores) {
		t.Errorf("gpu/ref scored %d tokens, want %d", at, len(s.scores))
	}
}

// near: the same tokens, log probabilities within one unit in the last place. Those near 0,
// of a token that is almost certain, may be 1e-14 apart: a sum of doubles is no more exact.
func near(t *testing.T, got results, score, top int, want gpu.Logprobs) {
	t.Helper()
	check := func(token int32, logprob float32, want gpu.TokenLogprob) {
		low, high := math.Nextafter32(want.Logprob, float32(math.Inf(-1))), math.Nextafter32(want.Logprob, float32(math.Inf(1)))
		equal := logprob >= low && logprob <= high || math.Abs(float64(logprob)-float64(want.Logprob)) <= 1e-14
		if bothNaN := logprob != logprob && want.Logprob != want.Logprob; token != want.Token || !equal && !bothNaN {
			t.Errorf("score %d: token %d has %v, want %v", score, token, logprob, want)
		}
	}
	check(got.scores[score].Token, got.scores[score].Logprob, want.Chosen)
	for i, w := range want.Top {
		check(got.top[top+i].Token, got.top[top+i].Logprob, w)
	}
}
