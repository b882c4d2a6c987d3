package messages

import "slices"

// NoLogprobs switches a logprob field off; zero asks for the chosen token only.
const NoLogprobs = -1

// SamplingParams says how the tokens of one request are sampled and when its output
// ends. Frozen: made once by the HTTP server, shared by all actors and epochs.
//
// A device applies LogitBias, penalties, the mask of MinTokens, Temperature, TopK, TopP
// and MinP, in this order. Of equal logits, the lower token id goes first.
type SamplingParams struct {
	Temperature       float32 // >= 0; below 1e-6 means greedy
	TopP              float32 // (0, 1]; 1 keeps every token
	TopK              int32   // 0 keeps every token
	MinP              float32 // [0, 1]; 0 keeps every token
	FrequencyPenalty  float32 // [-2, 2]; times the count in the output
	PresencePenalty   float32 // [-2, 2]; once for a token in the output
	RepetitionPenalty float32 // (0, 2]; 1 is off; counts prompt and output

	LogitBias []TokenBias // frozen, ascending by token, each token once

	// Seed is random if the user gave none. Choice is mixed into it; 0 changes nothing.
	Seed   uint64
	Choice uint32

	MaxTokens    int     // at most this many output tokens, >= 1
	MinTokens    int     // end tokens are masked before this many outputs
	StopTokenIDs []int32 // frozen; the user's, end the output
	EOSTokenIDs  []int32 // frozen; the model's, end the output unless IgnoreEOS
	IgnoreEOS    bool

	// Grammar is what the output must match; nil: anything. It decides where the output may
	// end. End tokens are masked before MinTokens outputs, and with IgnoreEOS, only while
	// the grammar allows other tokens.
	Grammar *Grammar

	// TopLogprobs is NoLogprobs, or how many likely tokens to report beside the output.
	TopLogprobs int
	// PromptLogprobs is the same for prompt tokens from position PromptLogprobStart on;
	// only tokens before it can come from the cache.
	PromptLogprobs     int
	PromptLogprobStart int
}

// Grammar is a grammar as the client gave it. Frozen.
type Grammar struct {
	Kind string // one of package grammar, such as "json_schema"
	Text string // at most 4 MiB
	// Thoughts, if not nil, bounds thoughts at the begin of the output. The grammar allows them.
	Thoughts *Thoughts
}

// Thoughts bounds what a model thinks before it answers. Frozen.
type Thoughts struct {
	Tokens int     // that they may have, with the mark that opens them
	Open   string  // opens them, at the begin of the output; "": the prompt has opened them
	Mark   string  // ends them
	End    []int32 // the tokens of Mark, in which the output is made to say it
}

// EndOf is why token, as the n-th output token (from 1), ends an output, or 0 if it does
// not. It depends on its arguments only, so scheduler and intake agree without a message.
func (p *SamplingParams) EndOf(token int32, n int) EndReason {
	if (n > p.MinTokens && !p.IgnoreEOS || p.Grammar != nil) && slices.Contains(p.EOSTokenIDs, token) {
		return EndEOS // with a grammar it is sampled only where nothing else may follow, or the text may end
	}
	if n > p.MinTokens && slices.Contains(p.StopTokenIDs, token) {
		return EndStopToken
	}
	if n >= p.MaxTokens {
		return EndLength
	}
	return 0
}

// MaskedEnds are the tokens that must not be sampled before MinTokens outputs, because
// they would end the output. With IgnoreEOS these are only the user's.
func (p *SamplingParams) MaskedEnds() []int32 {
	switch {
	case p.MinTokens <= 0:
		return nil
	case p.IgnoreEOS:
		return p.StopTokenIDs
	}
	return slices.Concat(p.EOSTokenIDs, p.StopTokenIDs)
}

// TokenBias is added to a token's raw logit before anything else is applied.
type TokenBias struct {
	Token int32
	Bias  float32 // [-100, 100]
}

// TokenLogprob is a token with its log probability: the log-softmax of the raw
// logits, before bias, penalties and temperature.
type TokenLogprob struct {
	Token   int32
	Logprob float32
}

// PositionLogprobs is the report for one position: its token and the most likely
// ones, in descending order (ties: lower id first).
type PositionLogprobs struct {
	Chosen TokenLogprob
	Top    []TokenLogprob // frozen; nil if none were asked for
}
