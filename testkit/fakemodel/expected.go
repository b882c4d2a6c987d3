package fakemodel

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// Expected is the slow obvious twin of an engine over an Executor with the same
// Vocab and EOSChance: the first n tokens sampled after a prompt, one by one,
// without pages, rows or steps; fewer where every token is excluded. Ends are not
// applied; see ExpectedOutput.
func Expected(opt Options, prompt []int32, params *messages.SamplingParams, n int) []int32 {
	tokens := slices.Clone(prompt)
	digest := paramsDigest(params, len(prompt))
	for len(tokens) < len(prompt)+n {
		token, ok := sampleToken(&opt, stateAfter(tokens), digest, params, len(prompt), tokens)
		if !ok {
			break // the row fails here
		}
		tokens = append(tokens, token)
	}
	return tokens[len(prompt):]
}

// ExpectedOutput is all that an engine generates for a request: up to and
// including the token that ends it, with the reason. limit is the context (or
// what else bounds prompt and output together, in tokens); zero means none.
func ExpectedOutput(opt Options, prompt []int32, params *messages.SamplingParams, limit int) ([]int32, messages.EndReason) {
	n := params.MaxTokens
	if limit > 0 {
		n = min(n, limit-len(prompt))
	}
	out := Expected(opt, prompt, params, n)
	for i, t := range out {
		if reason := params.EndOf(t, i+1); reason != 0 {
			return out[:i+1], reason
		}
	}
	if len(out) < n {
		return out, messages.EndFailed
	}
	return out, messages.EndLength
}

// ExpectedLogprobs are those of one position of a sequence, given all tokens up
// to and including it; len(tokens) >= 2.
func ExpectedLogprobs(opt Options, tokens []int32, top int) messages.PositionLogprobs {
	last := len(tokens) - 1
	return logprobs(opt.Vocab, stateAfter(tokens[:last]), tokens[last], top)
}

// stateAfter digests the KV values of all tokens of a sequence.
func stateAfter(tokens []int32) uint64 {
	state, kv := digestStart, kvStart
	for p, t := range tokens {
		kv = kvValue(kv, t, p)
		state = fold(state, kv)
	}
	return state
}
