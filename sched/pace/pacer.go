package pace

import (
	"fmt"
	"math"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// Pacer keeps steps with decoding rows within the inter-token latency target by
// limiting their prompt tokens. Without a target it does nothing.
type Pacer struct {
	target float64 // seconds; 0: none
	aim    float64 // for a step, in seconds
	least  int     // prompt tokens that every step may compute
	model  model

	missed   float64 // the step duration last reported as missing the target; 0: none
	contrary int     // steps in a row that contradict the last report
}

// Load measures a step, if there is a target.
func (p *Pacer) Load(b *messages.RunBatch) Load {
	if p.target == 0 {
		return Load{}
	}
	return LoadOf(b)
}

func (p *Pacer) Launched(now time.Duration, b *messages.RunBatch) {
	if p.target > 0 {
		launches := &p.model.launches
		launches[int(b.Step)%len(launches)] = launchedLoad{b.Step, now, LoadOf(b)}
	}
}

// Done learns from the duration of a launched step.
func (p *Pacer) Done(now time.Duration, step messages.StepID) {
	if p.target > 0 {
		p.model.done(now, step, p.aim)
	}
}

const (
	// wayShare is the share of the target reserved for the varying delay of a token on
	// its way to the client, measured with 32 clients on one core.
	wayShare = 1.0 / 8
	// leastChunk is the smallest chunk under a target, in tokens; at least a page.
	leastChunk = 16
)

type Options struct {
	Target    time.Duration // between two tokens of a request; 0: none
	PageSize  int           // tokens
	ChunkSize int           // the largest chunk of a prompt, in tokens; 0 or less: prompts are not chunked
}

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

// Allowance is what a step may spend on prompts, in tokens and in seconds.
type Allowance struct {
	tokens  int
	seconds float64
	model   *model // nil if time is not limited
}

// Most is the longest chunk from position start on within the allowance.
func (a *Allowance) Most(start int) int {
	if a.model == nil {
		return a.tokens
	}
	return min(a.tokens, a.model.fits(a.seconds, start))
}

// Without is the allowance that remains after a chunk.
func (a Allowance) Without(start, count int) Allowance {
	a.tokens -= count
	if a.model != nil {
		a.seconds -= a.model.cost(start, count)
	}
	return a
}

// Allow limits a budget of prompt tokens beside decoding rows. A step without
// decoding rows delays no token, so it is not limited. start is where the oldest
// prompt continues; it gets the smallest chunk in any case.
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

const (
	patience = 16   // steps in a row that contradict the last report before the next one
	worse    = 1.25 // factor by which the reachable value must grow to be reported again
)

// check reports when the target cannot be met any more, and when it can again.
// alone is the predicted duration of the decoding rows, with is the same with the
// smallest chunk beside them. 99 of 100 steps stay below factor times that.
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
		out.Note(messages.NoteInfo, fmt.Sprintf("inter-token-latency-target %v can be met again", target))
		return
	}
	p.missed = with
	out.Note(messages.NoteWarning, fmt.Sprintf(
		"inter-token-latency-target %v cannot be met; raise it to at least %v, or lower max-running-requests: with %d running requests a step takes about %v, and %v with the smallest chunk of %d prompt tokens",
		target, round(with*factor/(1-wayShare)), rows, round(alone), round(with), p.least))
}

// round rounds seconds up to three digits.
func round(seconds float64) time.Duration {
	unit := math.Pow(10, math.Floor(math.Log10(max(seconds, 1e-9)))-2)
	return time.Duration(math.Ceil(seconds/unit) * unit * float64(time.Second)).Round(time.Nanosecond)
}
