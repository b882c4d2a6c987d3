package pace

import (
	"fmt"
	"math"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// Pacer keeps steps with decoding rows within the inter-token latency target
// by limiting what they compute of prompts. Without a target it does nothing.
type Pacer struct {
	target float64 // seconds; 0: none
	aim    float64 // of a step
	least  int     // tokens of prompts that every step computes at least
	model  model

	missed   float64 // seconds of a step that were reported to be out of reach; 0: none
	contrary int     // steps in a row that say otherwise
}

// Load measures a step so far, if there is a target.
func (p *Pacer) Load(b *messages.RunBatch) Load {
	if p.target == 0 {
		return Load{}
	}
	return LoadOf(b)
}

// Launched notes that a step was sent to the device.
func (p *Pacer) Launched(now time.Duration, b *messages.RunBatch) {
	if p.target > 0 {
		p.model.launched(now, b)
	}
}

// Done learns from the time that a launched step took.
func (p *Pacer) Done(now time.Duration, step messages.StepID) {
	if p.target > 0 {
		p.model.done(now, step, p.aim)
	}
}

// wayShare is the share of a target that is kept for the way of a token to its
// client, whose delays differ from token to token: measured with 32 clients on
// the one core that the device leaves.
const wayShare = 1.0 / 8

// leastChunk is the smallest chunk that a target makes of prompts, in tokens,
// if a page has not more.
const leastChunk = 16

// Options configure a Pacer.
type Options struct {
	Target    time.Duration // of a step with decoding rows; 0: none
	PageSize  int           // tokens
	ChunkSize int           // the greatest chunk of prompts, in tokens; 0 or less: no chunks
}

// New returns a Pacer that has seen no step.
func New(opt Options) Pacer {
	least := max(leastChunk, opt.PageSize)
	if opt.ChunkSize > 0 {
		least = min(least, opt.ChunkSize)
	}
	target := opt.Target.Seconds()
	p := Pacer{target: target, aim: (1 - wayShare) * target, least: least}
	p.model.guard = float64(least)
	return p
}

// Allowance is what a step may spend on prompts, in tokens and in time.
type Allowance struct {
	tokens  int
	seconds float64
	model   *model // nil when time does not count
}

// Most is the longest chunk from position start on that an allowance has room
// for.
func (a *Allowance) Most(start int) int {
	if a.model == nil {
		return a.tokens
	}
	return min(a.tokens, a.model.fits(a.seconds, start))
}

// Without is what a chunk leaves of an allowance.
func (a Allowance) Without(start, count int) Allowance {
	a.tokens -= count
	if a.model != nil {
		a.seconds -= a.model.cost(start, count)
	}
	return a
}

// Allow limits a budget for prompts beside decoding rows. Nobody waits for a
// token of a step without decoding rows, so that it has no limit. start is where
// the oldest prompt goes on, which must get the smallest chunk in any case.
func (p *Pacer) Allow(budget int, decoding Load, start int, out *messages.Outbox) Allowance {
	if p.target == 0 || decoding.Rows == 0 {
		return Allowance{tokens: budget}
	}
	budget = max(min(budget, int(p.model.guard)), min(budget, p.least))
	if p.model.prompts < trustAfter {
		return Allowance{tokens: budget}
	}
	alone, least, factor := p.model.predict(decoding.features()), p.model.cost(start, p.least), p.model.factor()
	p.check(decoding.Rows, alone, alone+least, factor, out)
	return Allowance{tokens: budget, seconds: max(p.aim/factor-alone, least), model: &p.model}
}

// patience is how many steps in a row must contradict what was last said about
// the target before that is said; worse is by what factor the reachable value
// must have grown to be worth saying again.
const (
	patience = 16
	worse    = 1.25
)

// check says when the target gets out of reach, and when it comes back. alone is
// how long the decoding rows take, with the smallest chunk beside them, and
// factor times that what is kept by 99 of 100 steps.
func (p *Pacer) check(rows int, alone, with, factor float64, out *messages.Outbox) {
	missed := with > p.target
	if missed == (p.missed > 0) && with < worse*p.missed || !missed && p.missed == 0 {
		p.contrary = 0
		return
	}
	if p.contrary++; p.contrary < patience {
		return
	}
	p.missed, p.contrary = 0, 0
	target := time.Duration(p.target * float64(time.Second))
	if !missed {
		out.Note(messages.NoteInfo, fmt.Sprintf("inter-token-latency-target %v can be kept again", target))
		return
	}
	p.missed = with
	out.Note(messages.NoteWarning, fmt.Sprintf(
		"inter-token-latency-target %v cannot be kept with %d running requests: their step takes about %v, and %v with the smallest chunk of %d prompt tokens; set at least %v, or fewer max-running-requests",
		target, rows, round(alone), round(with), p.least, round(with*factor/(1-wayShare))))
}

// round words seconds with three digits, upwards.
func round(seconds float64) time.Duration {
	unit := math.Pow(10, math.Floor(math.Log10(max(seconds, 1e-9)))-2)
	return time.Duration(math.Ceil(seconds/unit) * unit * float64(time.Second)).Round(time.Nanosecond)
}
