package pace

import (
	"math"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// Load is the part of a step's work that its duration depends on.
type Load struct {
	Rows    int     // rows that compute one token
	Context int     // tokens that these rows attend to
	Tokens  int     // prompt tokens
	Pairs   float64 // sum over prompt tokens of the tokens each attends to
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

// pairs is the number of (token, attended token) pairs of count tokens from start on.
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

type features [coefficients]float64

func (l Load) features() features {
	return features{1, float64(l.Rows), float64(l.Context), float64(l.Tokens), l.Pairs}
}

// model learns how long steps take. The duration is assumed to be linear in the Load,
// with non-negative coefficients. A margin and the guard cover what is not linear.
//
// The fit is least squares on relative errors, with decaying weights. It keeps
// the normal equations and improves the last solution by a few sweeps of
// coordinate descent per step, which takes well under a microsecond. A
// coefficient whose feature was not seen for a long time keeps its value.
type model struct {
	gram    [coefficients]features // sums of products of features
	moment  features               // sums of products of features and durations
	theta   features
	seen    int // steps
	prompts int // steps with prompt tokens

	margin margin
	// unrest is the same for steps without prompt tokens: the device's own
	// variation. It replaces the margin until that has enough measurements,
	// because requests usually decode before the next prompt arrives.
	unrest margin
	// guard is the most prompt tokens that a step may have beside decoding rows, whatever
	// the fit says. It assumes that a larger step takes no longer per token than a
	// smaller one, so a step that took half of the target may be doubled.
	guard float64

	launches [4]launchedLoad // by step modulo length; more than can be in flight
	ended    time.Duration   // when the last step completed
	took     time.Duration   // duration of the last step
}

type launchedLoad struct {
	step messages.StepID
	at   time.Duration
	load Load
}

const (
	fading = 0.99 // decay of a step's weight per step: about the last hundred count
	sweeps = 6
)

// done learns from a completed step. Its duration counts from its launch, or from
// the end of the last step if it was launched before or soon after that, because
// planning delays tokens as well. After a long pause no request waited for a token.
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

// observe learns the duration of a step in seconds.
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

// factor is the factor by which a step with prompt tokens may exceed its prediction.
func (p *model) factor() float64 {
	if p.margin.count < earlyMeasure && p.unrest.count > 0 {
		return min(max(p.margin.factor(), p.unrest.factor()), mostMargin)
	}
	return p.margin.factor()
}

// trustAfter is the number of steps with prompt tokens after which the fit is used.
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
				continue // not seen, or not for a very long time
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

// cost is the time that a chunk adds to a step, in seconds.
func (p *model) cost(start, count int) float64 {
	return p.theta[perToken]*float64(count) + p.theta[perPair]*pairs(start, count)
}

// fits is the longest chunk from start on that adds at most the given seconds to a step.
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
	return int(n * (1 + 1e-9)) // so that fits(cost(n)) is n in spite of rounding
}

// margin is the factor by which steps may exceed their prediction: the second
// largest of the last n measured ratios. A further ratio of the same distribution
// exceeds it with probability 2/(n+1), 0.4 % for n = 512. That is well under 1 %,
// so the 99th percentile of a few hundred steps meets the target as well.
type margin struct {
	ratios [512]float32
	count  int
}

// Bounds of the factor: leastMargin always, earlyMargin below earlyMeasure
// measurements. mostMargin keeps a pause of the machine from stopping prefill.
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
