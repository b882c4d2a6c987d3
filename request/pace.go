package request

import (
	"math"
	"time"
)

// Work is counted in prompt tokens. An output token counts for outputWork of
// them: prompts are computed many tokens at a time, an output token by token.
// The exact ratio differs by device, and matters only while requests of very
// different shapes follow each other.
const outputWork = 8

// work of a prompt and an output, in tokens.
func work(prompt int, output float64) float64 { return float64(prompt) + outputWork*output }

// How much of the past a pace is made of.
const (
	// paceMemory is the time constant by which measurements fade.
	paceMemory = 10 * time.Second
	// slowestFade keeps at least the last 16 steps or so, however slow they are.
	slowestFade = 1 - 1./16
	// firstGuess is how many tokens an output is taken for before one has ended.
	firstGuess = 128
)

// pace measures how much work the engine gets done. It is a plain value of
// decayed sums: held and done fade together, so their ratio does not depend on
// how long ago they were measured, and time without requests changes nothing.
type pace struct {
	at     time.Duration // everything before is accounted
	faded  time.Duration // of the last step that brought work
	held   float64       // request-seconds; requests beyond those that can run at once do not count
	done   float64       // work
	steps  float64       // that brought work
	window float64       // requests that the means below are made of

	// Of requests that have ended.
	ends, outputs, work float64
}

func newPace(running int) pace { return pace{window: float64(max(32, 2*running))} }

// pass accounts for the time since the last call, in which so many requests
// could run.
func (p *pace) pass(now time.Duration, open int) {
	if now > p.at {
		p.held += float64(open) * (now - p.at).Seconds()
		p.at = now
	}
}

// brought notes the work of a step.
func (p *pace) brought(now time.Duration, work float64) {
	f := max(math.Exp(-float64(now-p.faded)/float64(paceMemory)), slowestFade)
	p.faded = now
	p.held *= f
	p.done = (p.done + work) * f
	p.steps = (p.steps + 1) * f
}

// ended notes a request that ran to its end.
func (p *pace) ended(prompt, output int) {
	f := 1 - 1/p.window
	p.ends = p.ends*f + 1
	p.outputs = p.outputs*f + float64(output)
	p.work = p.work*f + work(prompt, float64(output))
}

// output is how many tokens an output has on average.
func (p *pace) output() float64 {
	if p.ends == 0 {
		return firstGuess
	}
	return p.outputs / p.ends
}

// request is the work of a request on average, 0 before one has ended.
func (p *pace) request() float64 { return p.work / max(p.ends, 1) }

// enoughSteps is how many steps with work make a measurement.
const enoughSteps = 8

// time is how long an engine takes for work, if so many requests run at once and
// each is of the given size. Before enough steps have brought work, a few
// requests are taken for done: a server that has just begun is trusted, the
// less the longer nothing comes out of it.
func (p *pace) time(total, each float64, running int) time.Duration {
	done := p.done + 4*each*max(0, 1-p.steps/enoughSteps)
	if p.held <= 0 || total <= 0 || done <= 0 {
		return 0
	}
	seconds := total / done * p.held / float64(max(running, 1))
	return time.Duration(min(seconds, longestWait.Seconds()) * float64(time.Second))
}

// longestWait bounds every estimate; what is beyond is not worth telling apart.
const longestWait = 24 * time.Hour
