package portal

import "time"

// meter measures how fast the engine computes prompts: their tokens that were not cached,
// divided by the time of the steps with prefill. Steps without prefill do not count, so
// that an idle engine, or one that only decodes, keeps its speed.
type meter struct {
	prefilling         int           // requests that are admitted and have no token
	computed, prompted float64       // tokens of recent prompts, without what was cached, and all
	busy               time.Duration // of the steps that computed them
	last               time.Duration // when the newest step was done, or the first request came after a rest
}

const (
	// meterWindow is the time with prefill over which the meter has its mean: then the sums
	// are halved.
	meterWindow = 10 * time.Second
	// leastMeasured is for how many tokens the meter has no speed: a few tokens take as
	// long as a step, however fast the engine is.
	leastMeasured = 256
)

// speed is in prompt tokens per second; 0: not measured.
func (m *meter) speed() float64 {
	if m.computed < leastMeasured || m.busy == 0 {
		return 0
	}
	return m.computed / m.busy.Seconds()
}

// uncached is the part of recent prompts that had to be computed.
func (m *meter) uncached() float64 {
	if m.prompted == 0 {
		return 1
	}
	return m.computed / m.prompted
}
