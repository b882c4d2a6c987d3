package pace

import (
	"math"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// Load is what a step does, as far as its duration depends on it.
type Load struct {
	Rows    int     // that compute one token
	Context int     // tokens that those read
	Tokens  int     // of prompts
	Pairs   float64 // tokens of prompts, each times the tokens that it reads
}

// LoadOf measures a step. A prompt of one token costs what a decoding row does.
func LoadOf(b *messages.RunBatch) (l Load) {
	for i := range b.Work {
		w := &b.Work[i]
		if w.Count == 1 {
			l.Rows++
			l.Context += w.Start + 1
			continue
		}
		l.Tokens += w.Count
		l.Pairs += pairs(w.Start, w.Count)
	}
	return l
}

// pairs is how many pairs of a token and one that it reads a chunk of count
// tokens from position start on has.
func pairs(start, count int) float64 { return float64(count) * (float64(start) + float64(count+1)/2) }

// The coefficients of a model, in seconds per …
const (
	perStep = iota
	perRow
	perContext
	perToken
	perPair
	coefficients
)

// features are what the coefficients are multiplied by.
type features [coefficients]float64

func (l Load) features() features {
	return features{1, float64(l.Rows), float64(l.Context), float64(l.Tokens), l.Pairs}
}

// model learns how long steps take from those that were done. The duration is
// taken to be linear in the Load, with coefficients that are not negative: what
// a device does more of never takes less time. That holds around every load; a
// margin and the guard cover what is not linear.
//
// The fit is least squares of relative errors, older steps fading. It keeps the
// normal equations and improves the last solution by some sweeps of coordinate
// descent per step, which costs well under a microsecond. A coefficient whose
// feature has not been seen for long keeps its value.
type model struct {
	gram    [coefficients]features // sums of products of features
	moment  features               // sums of products of features and durations
	theta   features
	seen    int // steps
	prompts int // of them with prompt tokens

	margin margin
	// unrest is the same for steps without prompt tokens: how much the device
	// differs from itself. It stands in for the margin until that has measured
	// enough, since prompts usually come beside rows that decode already.
	unrest margin
	// guard is how many prompt tokens a step beside decoding rows may have at
	// most. It holds whatever the fit says: no step takes longer per token than
	// a smaller one, so that a step that took half of the target may be doubled.
	guard float64

	launches [4]launchedLoad // by step modulo length, more than can be in flight
	ended    time.Duration   // when the last step was done
	took     time.Duration   // the last step
}

// launchedLoad is a step that runs.
type launchedLoad struct {
	step messages.StepID
	at   time.Duration
	load Load
}

const (
	fading = 0.99 // of the weight of a step, per step: the last hundred count
	sweeps = 6
)

// launched notes a step.
func (p *model) launched(now time.Duration, b *messages.RunBatch) {
	p.launches[int(b.Step)%len(p.launches)] = launchedLoad{b.Step, now, LoadOf(b)}
}

// done learns from a step that was launched. It took from its launch or, if it
// had to wait for it, from the end of the step before; the time that planning
// took between the two counts, unless it was so long that nobody can have been
// waiting for a token.
func (p *model) done(now time.Duration, step messages.StepID, target float64) {
	s := p.launches[int(step)%len(p.launches)]
	if s.step != step {
		return
	}
	if s.at-p.ended < p.took {
		s.at = p.ended
	}
	p.ended, p.took = now, now-s.at
	if p.took > 0 {
		p.observe(s.load, p.took.Seconds(), target)
	}
}

// observe learns that a step took so many seconds.
func (p *model) observe(l Load, took, target float64) {
	x := l.features()
	predicted := p.predict(x)
	switch {
	case l.Tokens == 0 && p.seen >= trustAfter:
		p.unrest.add(took / predicted)
	case l.Tokens > 0 && p.prompts >= trustAfter:
		p.margin.add(took / predicted)
	}
	p.fit(x, took)
	p.seen++
	if l.Tokens == 0 {
		return
	}
	p.prompts++
	allowed := float64(l.Tokens) * target / (took * p.factor())
	if took > target || allowed > p.guard {
		p.guard = allowed
	}
}

// factor is by what factor a step beside prompts may exceed its prediction.
func (p *model) factor() float64 {
	if p.margin.count < earlyMeasure && p.unrest.count > 0 {
		return min(max(p.margin.factor(), p.unrest.factor()), mostMargin)
	}
	return p.margin.factor()
}

// trustAfter is how many steps with prompt tokens must be seen before the fit
// counts.
const trustAfter = 8

func (p *model) fit(x features, took float64) {
	weight := 1 / (took * took)
	for i := range x {
		p.moment[i] = p.moment[i]*fading + weight*x[i]*took
		for j := range x {
			p.gram[i][j] = p.gram[i][j]*fading + weight*x[i]*x[j]
		}
	}
	for range sweeps {
		for i := range p.theta {
			if p.gram[i][i] < 1e-300 {
				continue // not seen, or not for ages
			}
			slope := p.moment[i]
			for j := range p.theta {
				slope -= p.gram[i][j] * p.theta[j]
			}
			p.theta[i] = max(0, p.theta[i]+slope/p.gram[i][i])
		}
	}
}

func (p *model) predict(x features) (seconds float64) {
	for i := range x {
		seconds += p.theta[i] * x[i]
	}
	return seconds
}

// cost is what a chunk adds to a step, in seconds.
func (p *model) cost(start, count int) float64 {
	return p.theta[perToken]*float64(count) + p.theta[perPair]*pairs(start, count)
}

// fits is the longest chunk from position start on that adds at most so many
// seconds to a step.
func (p *model) fits(seconds float64, start int) int {
	if seconds <= 0 {
		return 0
	}
	// cost = a·n + b·n²
	b := p.theta[perPair] / 2
	a := p.theta[perToken] + p.theta[perPair]*(float64(start)+0.5)
	// The positive root, in a form that loses no digits when b is small.
	n := 2 * seconds / (a + math.Sqrt(a*a+4*b*seconds))
	if !(n < math.MaxInt32) {
		return math.MaxInt32
	}
	return int(n * (1 + 1e-9)) // what fitted exactly fits again
}

// margin is by what factor steps may exceed their prediction: the second
// greatest of the last measured ratios. Of that many and one more of the same
// kind, in any order, the last one is among the two greatest once in
// len(ratios)+1 over 2 times: 0.4 % of steps exceed it. That is well under 1 %,
// so that the 99th percentile of a few hundred steps keeps the target, too.
type margin struct {
	ratios [512]float32
	count  int
}

// Bounds of the factor: a little for luck at the least, and what is taken while
// there are few measurements; at most, so that a pause of the machine does not
// stop prefill.
const (
	leastMargin  = 1.02
	earlyMargin  = 1.25
	mostMargin   = 3
	earlyMeasure = 64
)

func (m *margin) add(ratio float64) {
	m.ratios[m.count%len(m.ratios)] = float32(ratio)
	m.count++
}

func (m *margin) factor() float64 {
	first, second := float32(leastMargin), float32(leastMargin)
	for _, r := range m.ratios[:min(m.count, len(m.ratios))] {
		switch {
		case r > first:
			first, second = r, first
		case r > second:
			second = r
		}
	}
	if m.count < len(m.ratios)/2 {
		second = first
	}
	if m.count < earlyMeasure {
		second = max(second, earlyMargin)
	}
	return min(float64(second), mostMargin)
}
