package bench

import (
	"context"
	"fmt"
	"time"
)

// Subject does tests.
type Subject interface {
	// Prepare fills the cache to a test's depth. It is not timed.
	Prepare(ctx context.Context, t Test) error
	// Once does a prepared test. The number tells repetitions apart, so that
	// their prompts differ.
	Once(ctx context.Context, t Test, repetition int) (Sample, error)
}

// Sample is one repetition.
type Sample struct {
	Tokens int // computed
	Took   time.Duration
	Steps  int // each of which reads the weights
	// Positions of the KV pool that were read, at least: by each step once for
	// every sequence.
	Positions int64
	Delays    []Delay // of idle actors meanwhile
}

// Traffic is what a step reads.
type Traffic struct {
	WeightBytes int64 // 0: not known
	KVBytes     int64 // of a position
}

// Plan is what Run does.
type Plan struct {
	Tests       []Test
	Repetitions int // of each test, at least 1
	Warmup      int // repetitions before, which do not count
	Threads     int // for the results
	Traffic     Traffic
	// Bandwidth measures how fast memory is read, in bytes per second.
	Bandwidth func() float64
	// Progress, if not nil, is told before each repetition how many of how many
	// are done.
	Progress func(done, all int, t Test)
}

// Run does every test and gives their results. When ctx ends it returns what
// was measured, with the context's error; a test without a whole repetition is
// not among it.
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

// measured is the repetitions of a test; reads has one more than samples:
// before the first and after each.
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
	m.reads = append(m.reads, p.Bandwidth())
	for r := p.Warmup; r < p.Warmup+p.Repetitions; r++ {
		tell(r)
		sample, err := s.Once(ctx, t, r)
		if err != nil {
			return m, err
		}
		m.samples = append(m.samples, sample)
		m.reads = append(m.reads, p.Bandwidth())
	}
	return m, nil
}
