package messages

import (
	"slices"
	"time"
)

// NoLogprobs switches a logprob field off; zero asks for the chosen token only.
const NoLogprobs = -1

// SamplingParams is how the tokens of one request are chosen and when its
// output ends. Frozen: made once at the edge, shared by every actor and epoch.
//
// The order in which a device applies them: LogitBias, penalties, the mask of
// MinTokens, Temperature, TopK, TopP, MinP. Ties go to the lower token id.
type SamplingParams struct {
	Temperature       float32 // >= 0; below 1e-6 means greedy
	TopP              float32 // (0, 1]; 1 keeps every token
	TopK              int32   // 0 keeps every token
	MinP              float32 // [0, 1]; 0 keeps every token
	FrequencyPenalty  float32 // [-2, 2]; times the count in the output
	PresencePenalty   float32 // [-2, 2]; once for a token in the output
	RepetitionPenalty float32 // (0, 2]; 1 is off; counts prompt and output

	LogitBias []TokenBias // frozen, ascending by token, each token once

	// Seed is set for every request; intake draws one where the user gave
	// none. Choice is mixed into it, choice 0 leaves it as it is.
	Seed   uint64
	Choice uint32

	MaxTokens    int     // output tokens at most, >= 1
	MinTokens    int     // end tokens are masked before this many outputs
	StopTokenIDs []int32 // frozen; end the output, the user's
	EOSTokenIDs  []int32 // frozen; end the output unless IgnoreEOS, the model's
	IgnoreEOS    bool

	// TopLogprobs is NoLogprobs, or how many of the likeliest tokens are
	// reported beside each output token's own log probability.
	TopLogprobs int
	// PromptLogprobs is the same for the prompt's tokens from position
	// PromptLogprobStart on. It limits the prefix match to that position.
	PromptLogprobs     int
	PromptLogprobStart int
}

// EndOf is the rule by which an output ends: why token, as the n-th output
// token (from 1), is the last one, or 0 if it is not. It needs the parameters and
// the token only, so that the scheduler and intake come to the same result
// without a message.
func (p *SamplingParams) EndOf(token int32, n int) EndReason {
	if n > p.MinTokens {
		if !p.IgnoreEOS && slices.Contains(p.EOSTokenIDs, token) {
			return EndEOS
		}
		if slices.Contains(p.StopTokenIDs, token) {
			return EndStopToken
		}
	}
	if n >= p.MaxTokens {
		return EndLength
	}
	return 0
}

// MaskedEnds are the tokens that must not be sampled before MinTokens outputs:
// those that would end the output. An end token of the model ends nothing with
// IgnoreEOS, so it is not hidden then.
func (p *SamplingParams) MaskedEnds() []int32 {
	switch {
	case p.MinTokens <= 0:
		return nil
	case p.IgnoreEOS:
		return p.StopTokenIDs
	}
	return slices.Concat(p.EOSTokenIDs, p.StopTokenIDs)
}

// Greedy reports whether the likeliest token is taken without a draw.
func (p *SamplingParams) Greedy() bool { return p.Temperature < 1e-6 || p.TopK == 1 }

// TokenBias is added to a token's raw logit before everything else.
type TokenBias struct {
	Token int32
	Bias  float32 // [-100, 100]
}

// TokenLogprob is a token with the natural log of its probability under the
// log-softmax of the raw logits (before bias, penalties and temperature).
type TokenLogprob struct {
	Token   int32
	Logprob float32
}

// PositionLogprobs is what is reported for one position: the token that stands
// there and the likeliest ones, most likely first (ties: lower id first).
type PositionLogprobs struct {
	Chosen TokenLogprob
	Top    []TokenLogprob // frozen; nil when zero were asked for
}

// EngineRequest is one choice of one prompt as the engine sees it. Frozen: a
// resubmission after a crash is a new value with a longer Output.
type EngineRequest struct {
	ID RequestID
	// Prompt are the prompt's tokens, at least one. Output are the tokens that
	// intake had accepted before this submission; the two stay apart so that
	// penalties, limits and draw positions see the boundary.
	Prompt, Output []int32
	Params         *SamplingParams
	// Namespace separates prefixes that must never be shared (cache_salt,
	// extra_key, the sender's key). Requests share KV only under equal namespaces.
	Namespace string
	// Priority is the user's wish to be served before others; higher goes
	// first. Only the priority policy and preemption look at it.
	Priority int32
	// Tenant is whom the request is billed to when tenants share fairly (API
	// key or user); "" is a tenant of its own kind: everybody without a name.
	Tenant string
	// Arrived is when intake accepted the request, on the engine's clock. A
	// resubmission keeps it, so that waiting counts from the first arrival.
	Arrived time.Duration
	// Alone asks that no other request is in a step with this one until it has
	// got a token: it was in too many crashed steps without progress.
	Alone bool
}

// Len is the number of tokens known so far, prompt and output.
func (r *EngineRequest) Len() int { return len(r.Prompt) + len(r.Output) }

// WantsPromptLogprobs reports whether the log probabilities of the prompt are to
// be computed. A request with output had them computed by an earlier submission.
func (r *EngineRequest) WantsPromptLogprobs() bool {
	return r.Params != nil && r.Params.PromptLogprobs >= 0 && len(r.Output) == 0
}

// MatchLimit is how many of its first known tokens may come from the cache. One
// token must be computed to sample the next. And the log probability of position
// i comes from the computation of position i-1, unless the prompt's were reported
// before.
func (r *EngineRequest) MatchLimit(known int, reported bool) int {
	if reported || !r.WantsPromptLogprobs() {
		return known - 1
	}
	return min(known-1, max(0, r.Params.PromptLogprobStart-1))
}

// Remaining is how many more output tokens the request may get.
func (r *EngineRequest) Remaining() int { return r.Params.MaxTokens - len(r.Output) }
