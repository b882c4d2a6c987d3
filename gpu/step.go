package gpu

// StepBatch is one step: what each sequence computes.
type StepBatch struct {
	Sequences []Sequence
}

// Sequence is the part of one request in a step.
type Sequence struct {
	// Pages is the page table, by page index of the sequence; covers at least
	// Start+len(Tokens) positions.
	Pages []int32
	// Tokens are computed and stored at positions Start, Start+1, …
	Tokens []int32
	Start  int
	// Sample, if not nil, draws the next token from the last token's logits.
	Sample *SampleSpec
	// Score, if not nil, reports log probabilities of known tokens.
	Score *ScoreSpec
	// KeepLogits returns the raw logits of every token of the sequence.
	KeepLogits bool
}

// SampleSpec is how one token is drawn. Order: Bias, penalties, Mask,
// temperature, top-k, top-p, min-p; ties go to the lower id.
type SampleSpec struct {
	Temperature float32 // < 1e-6: take the likeliest
	TopP        float32 // 1: off
	MinP        float32 // 0: off
	TopK        int32   // 0: off

	FrequencyPenalty  float32
	PresencePenalty   float32
	RepetitionPenalty float32 // 1: off
	// History are the tokens seen so far, each once, in any order; needed
	// when a penalty is on.
	History []TokenCount

	Bias []TokenBias // each token once
	Mask []int32     // never drawn (min_tokens)

	// The draw is Uniform(Seed, Choice, Position).
	Seed     uint64
	Choice   uint32
	Position int // absolute position of the token to draw

	// TopLogprobs: -1 nothing, otherwise the drawn token's log probability
	// and as many of the likeliest.
	TopLogprobs int
}

// TokenCount says how often a token stands in the output and whether it
// stands in the prompt.
type TokenCount struct {
	Token    int32
	Output   int32
	InPrompt bool
}

// TokenBias is added to a raw logit.
type TokenBias struct {
	Token int32
	Bias  float32
}

// ScoreSpec asks for log probabilities of the tokens that follow positions
// From, From+1, …, all of which are computed in this step.
type ScoreSpec struct {
	From    int     // absolute position
	Targets []int32 // Targets[i] stands at position From+i+1
	Top     int     // likeliest tokens beside each, >= 0
}

// StepResult has one entry per sequence, in order.
type StepResult struct {
	Sequences []SequenceResult
}

// SequenceResult is what a sequence asked for.
type SequenceResult struct {
	Token  int32       // drawn; -1 without a Sample
	Chosen *Scored     // nil unless TopLogprobs >= 0
	Scores []Scored    // per target of Score
	Logits [][]float32 // per token of the sequence, with KeepLogits
}

// Scored is a token's log probability under the log-softmax of the raw logits,
// and the likeliest tokens, most likely first, ties lower id first.
type Scored struct {
	Token   int32
	Logprob float32
	Top     []TokenLogprob
}

// TokenLogprob is a token and its log probability.
type TokenLogprob struct {
	Token   int32
	Logprob float32
}
