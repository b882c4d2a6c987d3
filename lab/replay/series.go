package replay

import (
	"time"

	"github.com/troupe-engine/troupe/lab/plot"
)

// Sample is the state of all engines, and the tokens since the sample before.
type Sample struct {
	plot.Sample
	tokenCount
}

type tokenCount struct {
	First  int `json:"first_tokens"` // of their request; TTFT is their mean
	Tokens int `json:"tokens"`       // after the first of their request; ITL is their mean

	ttft, itl time.Duration // sums
}

// series is a bounded list of samples at equal distances. When it is full,
// every second one goes and the distance doubles.
type series struct {
	max     int
	every   time.Duration
	next    time.Duration
	total   tokenCount
	samples []Sample // until finish with the total at their time
}

// firstEvery is the distance of samples to begin with.
const firstEvery = 10 * time.Millisecond

// reach takes the samples due before now, all of one state: nothing happened since.
func (s *series) reach(now time.Duration, state func() plot.Sample) {
	if s.next > now {
		return
	}
	current := state()
	for s.next <= now {
		s.take(s.next, current)
		s.next += s.every
		if len(s.samples) >= s.max {
			s.thin()
		}
	}
}

func (s *series) take(at time.Duration, state plot.Sample) {
	state.Seconds = seconds(at)
	s.samples = append(s.samples, Sample{state, s.total})
}

// thin keeps the samples at multiples of twice the distance.
func (s *series) thin() {
	kept := s.samples[:0]
	for i := 0; i < len(s.samples); i += 2 {
		kept = append(kept, s.samples[i])
	}
	s.samples = kept
	s.every *= 2
	last := s.next - s.every/2 // the newest time that was taken
	s.next = last - last%s.every + s.every
}

// finish takes the last sample, at the end, and computes what is between samples.
func (s *series) finish(now time.Duration, state func() plot.Sample) {
	s.reach(now, state)
	if n := len(s.samples); n > 0 && s.samples[n-1].Seconds == seconds(now) { // state has changed since
		s.samples = s.samples[:n-1]
	}
	s.take(now, state())
	var before tokenCount
	for i := range s.samples {
		x := &s.samples[i]
		x.tokenCount, before = x.since(before), x.tokenCount
		x.TTFT, x.ITL = seconds(x.ttft/time.Duration(max(x.First, 1))), seconds(x.itl/time.Duration(max(x.Tokens, 1)))
	}
}

func (c tokenCount) since(before tokenCount) tokenCount {
	return tokenCount{c.First - before.First, c.Tokens - before.Tokens, c.ttft - before.ttft, c.itl - before.itl}
}
