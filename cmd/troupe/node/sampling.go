package node

import (
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/config"
)

// Sampling has the parameters of a local request. Set reports whether the user gave
// a flag; parameters that were not given come from the model.
type Sampling struct {
	MaxTokens   int // 0: to the end of the context
	Temperature float64
	TopP        float64
	TopK        int
	Seed        uint64
	Set         func(flag string) bool
}

// params checks a user's parameters and adds the defaults.
func (n *Node) params(s Sampling) (*messages.SamplingParams, error) {
	d := n.SamplingDefaults()
	given := func(flag string, value, fallback float64) float64 {
		if s.Set != nil && s.Set(flag) {
			return value
		}
		return fallback
	}
	p := &messages.SamplingParams{
		Temperature: float32(given("temperature", s.Temperature, d.Temperature)), TopP: float32(given("top-p", s.TopP, d.TopP)),
		TopK: int32(given("top-k", float64(s.TopK), float64(d.TopK))), MinP: float32(d.MinP), RepetitionPenalty: float32(d.RepetitionPenalty),
		EOSTokenIDs: n.EOS(), MaxTokens: s.MaxTokens, Seed: s.Seed, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs,
	}
	switch {
	case !(p.Temperature >= 0 && p.Temperature <= 2):
		return nil, fmt.Errorf("--temperature is %v; it must be between 0 and 2", s.Temperature)
	case !(p.TopP > 0 && p.TopP <= 1):
		return nil, fmt.Errorf("--top-p is %v; it must be above 0 and at most 1", s.TopP)
	case p.TopK < 0:
		return nil, fmt.Errorf("--top-k is %d; it must be at least 0", s.TopK)
	case s.MaxTokens < 0:
		return nil, fmt.Errorf("--max-tokens is %d; it must be at least 0", s.MaxTokens)
	case s.MaxTokens == 0:
		p.MaxTokens = math.MaxInt32
	}
	if s.Set == nil || !s.Set("seed") {
		p.Seed = newSeed()
	}
	return p, nil
}

// EOS returns the tokens that end an output.
func (n *Node) EOS() []int32 { return model.EndTokens(n.Checkpoint.Config.EOS, n.Tokenizer) }

// SamplingDefaults are for unset parameters: the model's recommendation, or the API's.
func (n *Node) SamplingDefaults() httpapi.SamplingDefaults {
	return samplingDefaults(n.Config(), &n.Checkpoint.Config.Generation)
}

func samplingDefaults(c *configs.Config, g *config.Generation) httpapi.SamplingDefaults {
	d := httpapi.OpenAIDefaults
	if c.SamplingFrom == "openai" {
		return d
	}
	for _, f := range []struct {
		to   *float64
		from *float32
	}{{&d.Temperature, g.Temperature}, {&d.TopP, g.TopP}, {&d.MinP, g.MinP}, {&d.RepetitionPenalty, g.RepetitionPenalty}} {
		if f.from != nil {
			*f.to = float64(*f.from)
		}
	}
	if g.TopK != nil {
		d.TopK = int(*g.TopK)
	}
	if g.DoSample != nil && !*g.DoSample {
		d.Temperature = 0
	}
	return d
}
