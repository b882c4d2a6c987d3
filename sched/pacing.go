package sched

import (
	"fmt"
	"math"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// pacing keeps steps with decoding rows within the inter-token latency target
// by limiting what they compute of prompts. Without a target it does nothing.
type pacing struct {
	target float64 // seconds; 0: none
	aim    float64 // of a step
	least  int     // tokens of prompts that every step computes at least
	pace   pace

	missed   float64 // seconds of a step that were reported to be out of reach; 0: none
	contrary int     // steps in a row that say otherwise
}

// load measures the decoding rows of a step, if anybody wants to know.
func (p *pacing) load(b *messages.RunBatch) load {
	if p.target == 0 {
		return load{}
	}
	return loadOf(b)
}

// launched and done follow the steps, if there is a target.
func (p *pacing) launched(now time.Duration, b *messages.RunBatch) {
	if p.target > 0 {
		p.pace.launched(now, b)
	}
}

func (p *pacing) done(now time.Duration, step messages.StepID) {
	if p.target > 0 {
		p.pace.done(now, step, p.aim)
	}
}

// wayShare is the share of a target that is kept for the way of a token to its
// client, whose delays differ from token to token: measured with 32 clients on
// the one core that the device leaves.
const wayShare = 1.0 / 8

// leastChunk is the smallest chunk that a target makes of prompts, in tokens,
// if a page has not more.
const leastChunk = 16

func newPacing(opt *FormerOptions) pacing {
	least := max(leastChunk, opt.PageSize)
	if opt.ChunkedPrefillSize > 0 {
		least = min(least, opt.ChunkedPrefillSize)
	}
	target := opt.InterTokenLatencyTarget.Seconds()
	p := pacing{target: target, aim: (1 - wayShare) * target, least: least}
	p.pace.guard = float64(least)
	return p
}

// allowance is what a step may spend on prompts, in tokens and in time.
type allowance struct {
	tokens  int
	seconds float64
	pace    *pace // nil when time does not count
}

// most is the longest chunk from position start on that an allowance has room
// for.
func (a *allowance) most(start int) int {
	if a.pace == nil {
		return a.tokens
	}
	return min(a.tokens, a.pace.fits(a.seconds, start))
}

// without is what a chunk leaves of an allowance.
func (a allowance) without(start, count int) allowance {
	a.tokens -= count
	if a.pace != nil {
		a.seconds -= a.pace.cost(start, count)
	}
	return a
}

// allow limits a budget for prompts beside decoding rows. Nobody waits for a
// token of a step without decoding rows, so that it has no limit. start is where
// the oldest prompt goes on, which must get the smallest chunk in any case.
func (p *pacing) allow(budget int, decoding load, start int, out *messages.Outbox) allowance {
	if p.target == 0 || decoding.rows == 0 {
		return allowance{tokens: budget}
	}
	budget = max(min(budget, int(p.pace.guard)), min(budget, p.least))
	if p.pace.prompts < trustAfter {
		return allowance{tokens: budget}
	}
	alone, least, factor := p.pace.predict(decoding.features()), p.pace.cost(start, p.least), p.pace.factor()
	p.check(decoding.rows, alone, alone+least, factor, out)
	return allowance{tokens: budget, seconds: max(p.aim/factor-alone, least), pace: &p.pace}
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
func (p *pacing) check(rows int, alone, with, factor float64, out *messages.Outbox) {
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
