package replay

import (
	"time"

	"github.com/troupe-engine/troupe/lab/plot"
)

// Sample is the state of all engines together at one time, and what happened
// since the sample before.
type Sample struct {
	Seconds   float64 `json:"seconds"`
	Free      int     `json:"free_pages"`
	Evictable int     `json:"evictable_pages"`
	Locked    int     `json:"locked_pages"`
	Leased    int     `json:"leased_pages"`
	Waiting   int     `json:"waiting"`
	Running   int     `json:"running"`
	// Means since the sample before; 0 with a count of 0 when there were none.
	TTFT   float64 `json:"ttft"`
	ITL    float64 `json:"itl"`
	First  int     `json:"first_tokens"`
	Tokens int     `json:"tokens"` // after the first of their request

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

// finish takes the last sample, at the end.
func (s *series) finish(now time.Duration, state func() Sample) {
	s.reach(now, state)
	if n := len(s.samples); n > 0 && s.samples[n-1].Seconds == seconds(now) {
		s.take(now, state()) // as things are after all that happened then
		last := s.samples[n]
		last.gather(&s.samples[n-1])
		last.average()
		s.samples = append(s.samples[:n-1], last)
		return
	}
	s.take(now, state())
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
	state.First, state.Tokens, state.ttft, state.itl = 0, 0, 0, 0
	state.gather(&s.pending)
	state.average()
	s.pending = Sample{}
	s.samples = append(s.samples, state)
}

func (s *Sample) average() {
	s.TTFT, s.ITL = 0, 0
	if s.First > 0 {
		s.TTFT = seconds(s.ttft / time.Duration(s.First))
	}
	if s.Tokens > 0 {
		s.ITL = seconds(s.itl / time.Duration(s.Tokens))
	}
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
		x.average()
		kept = append(kept, x)
	}
	s.samples = kept
	s.pending.gather(&carry)
	s.every *= 2
	last := s.next - s.every/2 // the newest time that was taken
	s.next = last - last%s.every + s.every
}

// points are the samples for drawing.
func points(samples []Sample) []plot.Sample {
	all := make([]plot.Sample, len(samples))
	for i := range samples {
		x := &samples[i]
		all[i] = plot.Sample{
			Seconds: x.Seconds,
			Free:    float64(x.Free), Evictable: float64(x.Evictable), Locked: float64(x.Locked), Leased: float64(x.Leased),
			// Latencies are positive; the logarithmic axis leaves zeros out.
			TTFT: x.TTFT, ITL: x.ITL,
			Waiting: float64(x.Waiting), Running: float64(x.Running),
		}
	}
	return all
}
