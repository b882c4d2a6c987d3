//go:build cuda

package cuda

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/rows"
)

// prepare lists what the device needs to know of the sequences, and makes room for results.
func (s *step) prepare() {
	s.tokenID, s.tokenPosition, s.tokenRow, s.outputToken = s.tokenID[:0], s.tokenPosition[:0], s.tokenRow[:0], s.outputToken[:0]
	s.outputs, s.tiles, s.samples, s.scores, s.writes = s.outputs[:0], s.tiles[:0], s.samples[:0], s.scores[:0], s.writes[:0]
	s.history, s.bias, s.masked, s.allowed = s.history[:0], s.bias[:0], s.masked[:0], s.allowed[:0]
	s.results, s.top, s.keeps = 0, 0, 0
	s.alone, s.prompt = false, false
	for i := range s.sequences {
		q := &s.sequences[i]
		s.wanted(i, q)
		if len(q.Tokens) == 1 {
			s.alone = true
		} else {
			s.prompt = true
		}
		s.writes = s.model.pool.changed(s.writes, q.Row, q.Pages)
		s.tokenID = append(s.tokenID, q.Tokens...)
		for j := range q.Tokens {
			s.tokenPosition = append(s.tokenPosition, int32(q.Start+j))
			s.tokenRow = append(s.tokenRow, int32(q.Row))
		}
	}
	for first := 0; first < len(s.outputs); first += s.model.pool.tile {
		s.tiles = append(s.tiles, s.cut(first, min(s.model.pool.tile, len(s.outputs)-first)))
	}
}

// wanted lists the outputs of a sequence.
func (s *step) wanted(i int, q *rows.Sequence) {
	r := q.Result
	from := 0 // first scored token, by index
	if n := len(q.Score.Targets); n > 0 {
		from = q.Score.From - q.Start
		r.Scores = make([]gpu.Logprobs, n)
	}
	if q.KeepLogits {
		r.Logits = make([][]float32, len(q.Tokens))
	}
	for j := range q.Tokens {
		o := output{sequence: i, token: len(s.tokenID) + j, keep: -1, scored: -1}
		if q.KeepLogits {
			o.keep = j
			s.keeps++
		}
		if j >= from && j < from+len(q.Score.Targets) {
			o.scored = j - from
		}
		o.sampled = j == len(q.Tokens)-1 && q.Draws() // masks are uploaded before the step
		if o.keep >= 0 || o.scored >= 0 || o.sampled {
			s.outputs = append(s.outputs, o)
			s.outputToken = append(s.outputToken, int32(o.token))
		}
	}
}

// cut makes a tile of outputs, with the specs of its scores and samples.
func (s *step) cut(first, n int) tile {
	t := tile{first: first, outputs: n, firstSample: len(s.samples), firstScore: len(s.scores), firstResult: s.results}
	for i := range n {
		o := &s.outputs[first+i]
		if q := &s.sequences[o.sequence]; o.scored >= 0 {
			s.scores = append(s.scores, scoreSpec{int32(i), q.Score.Targets[o.scored], s.mostLikely(q.Score.Top), 0})
			last := &s.scores[len(s.scores)-1]
			last.topAt = int32(s.top) - last.top
		}
	}
	t.scores = len(s.scores) - t.firstScore
	t.results = t.scores
	for i := range n {
		if o := &s.outputs[first+i]; o.sampled {
			s.samples = append(s.samples, s.sample(i, &s.sequences[o.sequence], &t))
		}
	}
	t.samples = len(s.samples) - t.firstSample
	s.results += t.results
	return t
}

// mostLikely takes room for n of the most likely tokens and returns how many there can be.
func (s *step) mostLikely(n int) int32 {
	n = min(n, s.model.program.Vocab)
	s.top += n
	return int32(n)
}

// sample is how the next token of a sequence is chosen, from output i of a tile.
func (s *step) sample(i int, q *rows.Sequence, t *tile) sampleSpec {
	from := q.Sample
	spec := sampleSpec{
		output: int32(i), row: int32(q.Row),
		temperature: from.Temperature, topP: from.TopP, minP: from.MinP, topK: from.TopK,
		repetition: from.RepetitionPenalty, frequency: from.FrequencyPenalty, presence: from.PresencePenalty,
		historyAt: int32(len(s.history)), historyN: int32(len(from.History)),
		biasAt: int32(len(s.bias)), biasN: int32(len(from.Bias)),
		maskedAt: int32(len(s.masked)), maskedN: int32(len(from.Mask)),
		allowedAt: -1, score: -1, choice: from.Choice, seed: from.Seed, position: uint64(from.Position),
	}
	for _, h := range from.History {
		c := tokenCount{token: h.Token, output: int32(h.Output)}
		if h.InPrompt {
			c.inPrompt = 1
		}
		s.history = append(s.history, c)
	}
	for _, b := range from.Bias {
		s.bias = append(s.bias, tokenBias{b.Token, b.Bias})
	}
	s.masked = append(s.masked, from.Mask...)
	if from.Allowed != nil {
		spec.allowedAt = int32(len(s.allowed))
		s.allowed = append(s.allowed, from.Allowed...)
	}
	if n := from.TopLogprobs; n >= 0 {
		spec.score = int32(t.results)
		spec.top = s.mostLikely(n)
		spec.topAt = int32(s.top) - spec.top
		t.results++
	}
	return spec
}
