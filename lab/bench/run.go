package bench

import (
	"context"
	"fmt"
	"time"
)

type Subject interface {
	Prepare(ctx context.Context, t Test) error // fills the cache to a test's depth; not timed
	// Once runs a prepared test. Each repetition has other prompts.
	Once(ctx context.Context, t Test, repetition int) (Sample, error)
}

// Sample is one repetition.
type Sample struct {
	Tokens    int // computed
	Took      time.Duration
	Steps     int     // each of which reads the weights
	Positions int64   // of the KV pool that were read, at least: once per step and sequence
	Delays    []Delay // of idle actors meanwhile
}

type Plan struct {
	Tests       []Test
	Repetitions int // of each test, at least 1
	Warmup      int // repetitions before, which do not count
	Threads     int // for the results
	Traffic     Traffic
	// Bandwidth, if not nil, measures how fast memory is read, in bytes per second.
	Bandwidth func() float64
	// Probe, if not nil, measures until stop how late idle actors are.
	Probe    func() (stop func() []Delay)
	Progress func(done, all int, t Test) // if not nil, called before each repetition
}

// Run runs every test and returns the results. When ctx ends it returns what was measured
// so far and the context's error; a test without a complete repetition is left out.
func Run(ctx context.Context, s Subject, p Plan) ([]Result, error) {
	var results []Result
	each := p.Warmup + p.Repetitions
	for i, t := range p.Tests {
		tell := func(done int) {
			if p.Progress != nil {
				p.Progress(i*each+done, len(p.Tests)*each, t)
			}
		}
		tell(0)
		m, err := p.measure(ctx, s, t, tell)
		if len(m.samples) > 0 {
			results = append(results, m.result(p, t))
		}
		if err != nil {
			if ctx.Err() != nil {
				return results, ctx.Err()
			}
			return results, fmt.Errorf("test %s: %w", t, err)
		}
	}
	return results, nil
}

// read measures the bandwidth.
func (p *Plan) read(m *measured) {
	if p.Bandwidth != nil {
		m.reads = append(m.reads, p.Bandwidth())
	}
}

// measured are a test's repetitions; reads are the bandwidths before, between and after.
type measured struct {
	samples []Sample
	reads   []float64
}

func (p *Plan) measure(ctx context.Context, s Subject, t Test, tell func(done int)) (m measured, err error) {
	if err := s.Prepare(ctx, t); err != nil {
		return m, err
	}
	for r := range p.Warmup {
		tell(r)
		if _, err := s.Once(ctx, t, r); err != nil {
			return m, err
		}
	}
	p.read(&m)
	for r := p.Warmup; r < p.Warmup+p.Repetitions; r++ {
		tell(r)
		var stop func() []Delay
		if p.Probe != nil {
			stop = p.Probe()
		}
		sample, err := s.Once(ctx, t, r)
		if stop != nil {
			sample.Delays = stop()
		}
		if err != nil {
			return m, err
		}
		m.samples = append(m.samples, sample)
		p.read(&m)
	}
	return m, nil
}
