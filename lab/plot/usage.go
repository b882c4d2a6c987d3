package plot

import "math"

// Sample is the state of an engine, or of several together, at one time.
type Sample struct {
	Seconds float64 // since the beginning
	// Pages of the KV pool by owner. Locked ones are in the cache and in use
	// (protected), leased ones private to requests.
	Free, Evictable, Locked, Leased float64
	// TTFT and ITL are the mean time to first token and between tokens since
	// the sample before, in seconds; NaN when there were none.
	TTFT, ITL float64
	// Requests that wait and that run.
	Waiting, Running float64
}

// Usage is the figure of an engine's memory, latencies and queue.
func Usage(title string, samples []Sample) *Figure {
	f := &Figure{Title: title, Seconds: make([]float64, len(samples))}
	for i := range samples {
		f.Seconds[i] = samples[i].Seconds
	}
	series := func(name string, value func(*Sample) float64) Series {
		s := Series{Name: name, Values: make([]float64, len(samples))}
		for i := range samples {
			s.Values[i] = value(&samples[i])
		}
		return s
	}
	f.Panels = []Panel{
		{Label: "KV pages", Stacked: true, Whole: true, Series: []Series{
			series("leased", func(s *Sample) float64 { return s.Leased }),
			series("locked", func(s *Sample) float64 { return s.Locked }),
			series("evictable", func(s *Sample) float64 { return s.Evictable }),
			series("free", func(s *Sample) float64 { return s.Free }),
		}},
		{Label: "latency (s)", Log: true, Series: []Series{
			series("TTFT", func(s *Sample) float64 { return s.TTFT }),
			series("ITL", func(s *Sample) float64 { return s.ITL }),
		}},
		{Label: "requests", Whole: true, Series: []Series{
			series("waiting", func(s *Sample) float64 { return s.Waiting }),
			series("running", func(s *Sample) float64 { return s.Running }),
		}},
	}
	if !f.Panels[1].drawable() { // nothing was answered: no axis to put it on
		f.Panels = append(f.Panels[:1], f.Panels[2])
	}
	return f
}

// drawable reports whether a logarithmic panel has a value to show.
func (p *Panel) drawable() bool {
	for _, s := range p.Series {
		for _, v := range s.Values {
			if v > 0 && !math.IsNaN(v) {
				return true
			}
		}
	}
	return false
}
