package gpu

import "math/bits"

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

// Uniform is the random number of one sampled token: in [0, 1), a pure function
// of a request's seed, its choice index and the absolute position of the token.
// So a sample does not depend on what else runs or on how often the request was
// interrupted. It is Philox4x32-10 (Salmon et al. 2011, "Parallel random
// numbers: as easy as 1, 2, 3") keyed by the seed; choice 0 uses the seed
// unmixed, so that n = 1 and the first of n are the same request.
func Uniform(seed uint64, choice uint32, position int) float64 {
	x := philox(uint32(seed), uint32(seed>>32), [4]uint32{uint32(position), uint32(uint64(position) >> 32), choice, 0})
	return float64((uint64(x[0])<<32|uint64(x[1]))>>11) / (1 << 53)
}

// philox runs ten rounds over a counter with a two-word key.
func philox(k0, k1 uint32, c [4]uint32) [4]uint32 {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57
		w0, w1 = 0x9E3779B9, 0xBB67AE85
	)
	for range 10 {
		h0, l0 := bits.Mul32(m0, c[0])
		h1, l1 := bits.Mul32(m1, c[2])
		c = [4]uint32{h1 ^ c[1] ^ k0, l1, h0 ^ c[3] ^ k1, l0}
		k0 += w0
		k1 += w1
	}
	return c
}
