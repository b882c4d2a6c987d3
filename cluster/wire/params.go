package wire

import (
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/messages"
)

func encodeParams(p *messages.SamplingParams) *Params {
	to := &Params{
		Temperature: p.Temperature, TopP: p.TopP, TopK: p.TopK, MinP: p.MinP,
		FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, RepetitionPenalty: p.RepetitionPenalty,
		Seed: p.Seed, Choice: p.Choice, MaxTokens: int64(p.MaxTokens), MinTokens: int64(p.MinTokens),
		StopTokenIds: p.StopTokenIDs, EosTokenIds: p.EOSTokenIDs, IgnoreEos: p.IgnoreEOS,
		TopLogprobs: int32(p.TopLogprobs), PromptLogprobs: int32(p.PromptLogprobs), PromptLogprobStart: int64(p.PromptLogprobStart),
	}
	if g := p.Grammar; g != nil {
		to.Grammar = &Grammar{Kind: g.Kind, Text: g.Text}
		if t := g.Thoughts; t != nil {
			to.Grammar.Thoughts = &Thoughts{Tokens: int64(t.Tokens), Open: t.Open, Mark: t.Mark, End: t.End}
		}
	}
	for _, b := range p.LogitBias {
		to.BiasTokens, to.Biases = append(to.BiasTokens, b.Token), append(to.Biases, b.Bias)
	}
	return to
}

// decodeParams checks the ranges that messages.SamplingParams has.
func decodeParams(p *Params, l *Limits) (*messages.SamplingParams, error) {
	if p == nil {
		return nil, fmt.Errorf("a request has no parameters")
	}
	for _, f := range []struct {
		name           string
		value, low, up float32
	}{
		{"temperature", p.Temperature, 0, math.MaxFloat32},
		{"top_p", p.TopP, math.SmallestNonzeroFloat32, 1},
		{"min_p", p.MinP, 0, 1},
		{"frequency_penalty", p.FrequencyPenalty, -2, 2},
		{"presence_penalty", p.PresencePenalty, -2, 2},
		{"repetition_penalty", p.RepetitionPenalty, math.SmallestNonzeroFloat32, 2},
	} {
		if !(f.value >= f.low && f.value <= f.up) {
			return nil, fmt.Errorf("%s is %v; it must be between %g and %g", f.name, f.value, f.low, f.up)
		}
	}
	for _, f := range []struct {
		name           string
		value, low, up int64
	}{
		{"top_k", int64(p.TopK), 0, math.MaxInt32},
		{"max_tokens", p.MaxTokens, 1, math.MaxInt},
		{"min_tokens", p.MinTokens, 0, math.MaxInt}, // max_tokens may have been cut to the context
		{"top_logprobs", int64(p.TopLogprobs), messages.NoLogprobs, int64(l.Logprobs)},
		{"prompt_logprobs", int64(p.PromptLogprobs), messages.NoLogprobs, int64(l.Logprobs)},
		{"prompt_logprob_start", p.PromptLogprobStart, 0, math.MaxInt},
		{"the number of biases", int64(len(p.BiasTokens)), 0, maxBias},
		{"the number of tokens that end the output", int64(len(p.StopTokenIds) + len(p.EosTokenIds)), 0, maxBias},
		{"the number of values of biases", int64(len(p.Biases)), int64(len(p.BiasTokens)), int64(len(p.BiasTokens))},
	} {
		if f.value < f.low || f.value > f.up {
			return nil, fmt.Errorf("%s is %d; it must be between %d and %d", f.name, f.value, f.low, f.up)
		}
	}
	if err := l.allTokens(p.BiasTokens, p.StopTokenIds); err != nil {
		return nil, err
	}
	to := &messages.SamplingParams{
		Temperature: p.Temperature, TopP: p.TopP, TopK: p.TopK, MinP: p.MinP,
		FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, RepetitionPenalty: p.RepetitionPenalty,
		Seed: p.Seed, Choice: p.Choice, MaxTokens: int(p.MaxTokens), MinTokens: int(p.MinTokens),
		StopTokenIDs: p.StopTokenIds, EOSTokenIDs: p.EosTokenIds, IgnoreEOS: p.IgnoreEos,
		TopLogprobs: int(p.TopLogprobs), PromptLogprobs: int(p.PromptLogprobs), PromptLogprobStart: int(p.PromptLogprobStart),
	}
	if g := p.Grammar; g != nil {
		if len(g.Kind) > maxKind || len(g.Text) > maxGrammar {
			return nil, fmt.Errorf("the kind of the grammar has %d bytes, its text %d; at most %d and %d are allowed", len(g.Kind), len(g.Text), maxKind, maxGrammar)
		}
		to.Grammar = &messages.Grammar{Kind: g.Kind, Text: g.Text}
		if t := g.Thoughts; t != nil {
			if t.Tokens < 0 || t.Tokens > math.MaxInt32 || len(t.Open)+len(t.Mark) > maxText || len(t.End) > maxMark {
				return nil, fmt.Errorf("thoughts may have %d tokens, their marks %d bytes and %d tokens; at most %d, %d and %d are allowed", t.Tokens, len(t.Open)+len(t.Mark), len(t.End), math.MaxInt32, maxText, maxMark)
			}
			if err := l.allTokens(t.End); err != nil {
				return nil, err
			}
			to.Grammar.Thoughts = &messages.Thoughts{Tokens: int(t.Tokens), Open: t.Open, Mark: t.Mark, End: t.End}
		}
	}
	for i, token := range p.BiasTokens {
		bias := p.Biases[i]
		if !(bias >= -100 && bias <= 100) {
			return nil, fmt.Errorf("the bias of token %d is %v; it must be between -100 and 100", token, bias)
		}
		if i > 0 && token <= p.BiasTokens[i-1] {
			return nil, fmt.Errorf("the biases of tokens %d and %d are not in ascending order", p.BiasTokens[i-1], token)
		}
		to.LogitBias = append(to.LogitBias, messages.TokenBias{Token: token, Bias: bias})
	}
	return to, nil
}
