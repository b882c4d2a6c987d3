package portal

import "time"

// meter measures how fast the engine computes prompts. Steps without prefill do not count, so
// that an idle engine, or one that only decodes, keeps its speed.
//
// Equal engines must have nearly equal speeds: the router prefers a faster one. But prompts
// with a long context, few tokens in a step, and decoding rows beside them make a step slow
// for its tokens on any engine. So the speed follows fast windows at once, and slow ones
// slowly: it is how fast the engine is when it can be.
type meter struct {
	prefilling int           // requests that are admitted and have no token
	last       time.Duration // when the newest step was done, or the first request came after a rest
	// Of the window so far.
	tokens int
	busy   time.Duration
	rate   float64 // tokens per second; 0: not measured

	computed, prompted float64 // tokens of recent prompts, without what was cached, and all
}

const (
	// A window ends after windowTime or windowTokens. A single step would not do: its
	// results may come late, and then those of the next one too soon.
	windowTime   = time.Second
	windowTokens = 16384
	// The rate follows faster windows by the first share, slower ones by the second.
	follow, fade = 1.0 / 2, 1.0 / 16
	// recentTokens is over how many tokens of prompts the share of cached ones is a mean.
	recentTokens = 1 << 19
)

// step adds a step that was busy with prompts for some time.
func (m *meter) step(computed int, took time.Duration) {
	m.tokens += computed
	m.busy += took
	if m.busy == 0 || m.tokens < windowTokens && m.busy < windowTime {
		return
	}
	rate, share := float64(m.tokens)/m.busy.Seconds(), fade
	if rate > m.rate {
		share = follow
	}
	if m.rate == 0 {
		share = 1
	}
	m.rate += share * (rate - m.rate)
	m.tokens, m.busy = 0, 0
}

// prompt adds a prompt that is completed.
func (m *meter) prompt(tokens, cached int) {
	m.prompted += float64(tokens)
	m.computed += float64(max(0, tokens-cached))
	if m.prompted > recentTokens {
		m.prompted, m.computed = m.prompted/2, m.computed/2
	}
}

// uncached is the part of recent prompts that had to be computed.
func (m *meter) uncached() float64 {
	if m.prompted == 0 {
		return 1
	}
	return m.computed / m.prompted
}
