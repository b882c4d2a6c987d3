package rows

import "github.com/troupe-engine/troupe/gpu"

// TokenCount says how often a token is in the output and whether it is in the prompt.
type TokenCount struct {
	Token    int32
	Output   int32
	InPrompt bool
}

// history counts a row's tokens for penalties. Without penalties it is empty.
type history struct {
	on     bool
	counts []TokenCount    // each token once, in the order of appearance
	index  map[int32]int32 // token to index in counts
}

func (h *history) clear() {
	h.on, h.counts = false, h.counts[:0]
	clear(h.index)
}

// begin counts a new row's tokens. The prompt counts for the repetition penalty only.
func (h *history) begin(s *gpu.Sampling, prompt, output []int32) {
	h.on = s.FrequencyPenalty != 0 || s.PresencePenalty != 0 || s.RepetitionPenalty != 1
	if s.RepetitionPenalty != 1 {
		for _, t := range prompt {
			h.at(t).InPrompt = true
		}
	}
	for _, t := range output {
		h.sampled(t)
	}
}

// at is the entry of a token; it is added if it is missing.
func (h *history) at(token int32) *TokenCount {
	if h.index == nil {
		h.index = map[int32]int32{}
	}
	i, ok := h.index[token]
	if !ok {
		i = int32(len(h.counts))
		h.index[token] = i
		h.counts = append(h.counts, TokenCount{Token: token})
	}
	return &h.counts[i]
}

func (h *history) sampled(token int32) {
	if h.on {
		h.at(token).Output++
	}
}
