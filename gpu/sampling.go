package gpu

// Sampling is how a row's tokens are chosen. Order: Bias, penalties, the masks,
// temperature, top-k, top-p, min-p; ties go to the lower id.
type Sampling struct {
	Temperature float32 // < 1e-6: greedy
	TopP        float32 // 1: off
	MinP        float32 // 0: off
	TopK        int32   // 0: off

	FrequencyPenalty  float32
	PresencePenalty   float32
	RepetitionPenalty float32 // 1: off

	Bias []TokenBias // each token once
	// EndTokens are not sampled before the output has MinTokens tokens.
	EndTokens []int32
	MinTokens int

	// The random number of a position is Uniform(Seed, Choice, position).
	Seed   uint64
	Choice uint32

	// TopLogprobs: -1 none, otherwise each sampled token's log probability and this
	// many of the most likely tokens.
	TopLogprobs int
}

// TokenBias is added to a raw logit.
type TokenBias struct {
	Token int32
	Bias  float32
}
