package exec

import (
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
)

// prepare translates what does not change while the row is open.
func (r *row) prepare(vocab int) {
	p := r.request.Params
	s := &r.sampling
	bias := s.Bias[:0]
	for _, b := range p.LogitBias {
		bias = append(bias, gpu.TokenBias{Token: b.Token, Bias: b.Bias})
	}
	*s = gpu.SampleSpec{
		Temperature: p.Temperature, TopP: p.TopP, MinP: p.MinP, TopK: p.TopK,
		FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, RepetitionPenalty: p.RepetitionPenalty,
		Bias: bias, Seed: p.Seed, Choice: p.Choice, TopLogprobs: p.TopLogprobs,
	}
	if p.MinTokens > 0 {
		// With IgnoreEOS an end token of the model ends nothing, so there is
		// no reason to hide it; a stop token of the user still ends.
		if !p.IgnoreEOS {
			r.maskTokens(p.EOSTokenIDs, vocab)
		}
		r.maskTokens(p.StopTokenIDs, vocab)
	}
	prompt, output := r.request.Prompt, r.tokens[len(r.request.Prompt):]
	r.history.on = p.FrequencyPenalty != 0 || p.PresencePenalty != 0 || p.RepetitionPenalty != 1
	if p.RepetitionPenalty != 1 {
		r.history.prompt(prompt)
	}
	for _, t := range output {
		r.history.sampled(t)
	}
}

// maskTokens leaves out ids that the model does not have.
func (r *row) maskTokens(ids []int32, vocab int) {
	for _, id := range ids {
		if id >= 0 && int(id) < vocab {
			r.endMask = append(r.endMask, id)
		}
	}
}

// sample describes the draw of the token after all that are known. It depends
// on the row's tokens only, not on how the row came by them.
func (r *row) sample() *gpu.SampleSpec {
	s := &r.sampling
	s.Position = len(r.tokens)
	s.History = r.history.counts
	s.Mask = nil
	if len(r.tokens)-len(r.request.Prompt) < r.request.Params.MinTokens {
		s.Mask = r.endMask
	}
	return s
}

// score asks for the log probabilities of the prompt tokens that follow the
// computed positions: the logits of position p are about the token at p+1, so
// the first token of a chunk is scored by the chunk before it. A request that
// was submitted with output has had them reported before.
func (r *row) score(w *messages.RowWork) *gpu.ScoreSpec {
	p := r.request.Params
	if p.PromptLogprobs < 0 || len(r.request.Output) > 0 {
		return nil
	}
	first := max(w.Start+1, p.PromptLogprobStart)
	last := min(w.Start+w.Count, len(r.request.Prompt)-1)
	if first > last {
		return nil
	}
	r.scoring = gpu.ScoreSpec{From: first - 1, Targets: r.tokens[first : last+1], Top: p.PromptLogprobs}
	return &r.scoring
}

// history counts a row's tokens for penalties. Off, it stays empty.
type history struct {
	on     bool
	counts []gpu.TokenCount // each token once, in the order of appearance
	index  map[int32]int32  // token to place in counts
}

func (h *history) clear() {
	h.on, h.counts = false, h.counts[:0]
	clear(h.index)
}

// at is the place of a token, made where it is new.
func (h *history) at(token int32) *gpu.TokenCount {
	if h.index == nil {
		h.index = map[int32]int32{}
	}
	i, ok := h.index[token]
	if !ok {
		i = int32(len(h.counts))
		h.index[token] = i
		h.counts = append(h.counts, gpu.TokenCount{Token: token})
	}
	return &h.counts[i]
}

// prompt is only needed where the prompt counts: for repetition.
func (h *history) prompt(tokens []int32) {
	for _, t := range tokens {
		h.at(t).InPrompt = true
	}
}

func (h *history) sampled(token int32) {
	if h.on {
		h.at(token).Output++
	}
}
