package replay

import (
	"time"

	"github.com/troupe-engine/troupe/lab/plot"
)

// Sample is the state of all engines together at one time, and what happened
// since the sample before.
type Sample struct {
	plot.Sample
	First  int `json:"first_tokens"` // of their request; TTFT is the mean of these
	Tokens int `json:"tokens"`       // after the first of their request; ITL is the mean of these

	ttft, itl time.Duration // sums
}

// series is a bounded list of samples at equal distances. When it is full,
// every second one goes and the distance doubles.
type series struct {
	max     int
	every   time.Duration
	next    time.Duration
	samples []Sample
	pending Sample // sums since the last one
}

// firstEvery is the distance of samples to begin with.
const firstEvery = 10 * time.Millisecond

func newSeries(max int) series { return series{max: max, every: firstEvery} }

func (s *series) first(d time.Duration) {
	s.pending.First++
	s.pending.ttft += d
}

func (s *series) gap(d time.Duration) {
	s.pending.Tokens++
	s.pending.itl += d
}

// reach takes the samples that are due before now. state is that of all of
// them: nothing has happened since.
func (s *series) reach(now time.Duration, state func() Sample) {
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

// finish takes the last sample, at the end, and computes the means.
func (s *series) finish(now time.Duration, state func() Sample) {
	s.reach(now, state)
	if n := len(s.samples); n > 0 && s.samples[n-1].Seconds == seconds(now) { // state has changed since
		s.pending.gather(&s.samples[n-1])
		s.samples = s.samples[:n-1]
	}
	s.take(now, state())
	for i := range s.samples {
		x := &s.samples[i]
		x.TTFT, x.ITL = seconds(x.ttft/time.Duration(max(x.First, 1))), seconds(x.itl/time.Duration(max(x.Tokens, 1)))
	}
}

// gather adds what happened before an earlier sample.
func (s *Sample) gather(earlier *Sample) {
	s.First += earlier.First
	s.Tokens += earlier.Tokens
	s.ttft += earlier.ttft
	s.itl += earlier.itl
}

func (s *series) take(at time.Duration, state Sample) {
	state.Seconds = seconds(at)
	state.gather(&s.pending)
	s.pending = Sample{}
	s.samples = append(s.samples, state)
}

// thin keeps the samples at multiples of twice the distance; what happened
// before those that go counts for the next ones.
func (s *series) thin() {
	kept := s.samples[:0]
	var carry Sample
	for i := range s.samples {
		x := s.samples[i]
		x.gather(&carry)
		carry = Sample{}
		if i%2 == 1 {
			carry = x
			continue
		}
		kept = append(kept, x)
	}
	s.samples = kept
	s.pending.gather(&carry)
	s.every *= 2
	last := s.next - s.every/2 // the newest time that was taken
	s.next = last - last%s.every + s.every
}
