package fakemodel

import (
	"math"
	"slices"

	"github.com/troupe-engine/troupe/internal/splitmix"
	"github.com/troupe-engine/troupe/messages"
)

const (
	kvStart     int32  = 0x5eed        // the KV before position 0
	digestStart uint64 = 0x243f6a8885a // any odd-looking constant
)

// mix folds a value into a hash.
func mix(h, v uint64) uint64 { return splitmix.Mix((h ^ v) + splitmix.Step) }

// fold takes one KV value into the digest that a draw hashes: cheap, since a
// draw reads every position, and mixed well afterwards.
func fold(state uint64, kv int32) uint64 {
	return (state ^ uint64(uint32(kv))) * splitmix.Step
}

// kvValue is what a position stores: it depends on all tokens up to it.
func kvValue(prev, token int32, position int) int32 {
	return int32(mix(mix(uint64(uint32(prev)), uint64(uint32(token))), uint64(position)))
}

// garbage is the content of an unwritten slot.
func garbage(slot, salt int) int32 { return int32(mix(uint64(slot)+1, uint64(salt)^0xdead)) }

// paramsDigest covers the parameters that shape a request's draws, as far as
// they would on a device: without temperature there is no seed, and only
// penalties see the boundary between prompt and output.
func paramsDigest(p *messages.SamplingParams, promptLen int) uint64 {
	h := digestStart
	if p.Temperature >= 1e-6 && p.TopK != 1 {
		for _, f := range []float32{p.Temperature, p.TopP, float32(p.TopK), p.MinP} {
			h = mix(h, uint64(math.Float32bits(f)))
		}
		h = mix(mix(h, p.Seed), uint64(p.Choice))
	}
	if p.FrequencyPenalty != 0 || p.PresencePenalty != 0 {
		h = mix(h, uint64(math.Float32bits(p.FrequencyPenalty))<<32|uint64(math.Float32bits(p.PresencePenalty)))
		h = mix(h, uint64(promptLen))
	}
	if p.RepetitionPenalty != 1 {
		h = mix(h, uint64(math.Float32bits(p.RepetitionPenalty)))
	}
	for _, b := range p.LogitBias {
		h = mix(h, uint64(uint32(b.Token))<<32|uint64(math.Float32bits(b.Bias)))
	}
	return h
}

// sampleToken is the token that follows tokens, from a digest of their KV; false where every
// token is excluded. Where a grammar allows nothing else, the output ends.
func sampleToken(opt *Options, state, digest uint64, p *messages.SamplingParams, promptLen int, tokens []int32) (int32, bool) {
	position := len(tokens)
	h := mix(mix(state, digest), uint64(position))
	masked := position-promptLen < p.MinTokens
	ends := p.EOSTokenIDs
	allowed := func(int32) bool { return true }
	if p.Grammar != nil && opt.Allowed != nil {
		allowed = opt.Allowed(p.Grammar, tokens[promptLen:])
		ends = slices.DeleteFunc(slices.Clone(ends), func(id int32) bool { return !allowed(id) })
	}
	if opt.Script != nil {
		if token, ok := opt.Script(tokens[:promptLen], tokens[promptLen:]); ok && allowed(token) {
			return token, true
		}
	}
	eos := func() int32 { return ends[mix(h, 1)%uint64(len(ends))] }
	if !masked && len(ends) > 0 && float64(h>>11)/(1<<53) < opt.EOSChance {
		return eos(), true
	}
	first := int32(mix(h, 2) % uint64(opt.Vocab))
	for i := range int32(opt.Vocab) {
		token := (first + i) % int32(opt.Vocab)
		if slices.Contains(p.EOSTokenIDs, token) || masked && slices.Contains(p.StopTokenIDs, token) || !allowed(token) {
			continue
		}
		return token, true
	}
	if p.Grammar != nil && len(ends) > 0 {
		return eos(), true
	}
	return 0, false
}

// logprobs are the fake log probabilities of a position: of every token a hash
// in [-16, 0), so that the reported ones agree with each other.
func logprobs(vocab int, state uint64, chosen int32, top int) messages.PositionLogprobs {
	score := func(token int32) messages.TokenLogprob {
		return messages.TokenLogprob{Token: token, Logprob: -float32(1+mix(state, uint64(token))%4096) / 256}
	}
	l := messages.PositionLogprobs{Chosen: score(chosen)}
	if top == 0 {
		return l
	}
	all := make([]messages.TokenLogprob, vocab)
	for t := range all {
		all[t] = score(int32(t))
	}
	slices.SortStableFunc(all, func(a, b messages.TokenLogprob) int {
		switch {
		case a.Logprob > b.Logprob:
			return -1
		case a.Logprob < b.Logprob:
			return 1
		}
		return 0 // stable: the lower id stays first
	})
	l.Top = slices.Clone(all[:min(top, vocab)])
	return l
}
