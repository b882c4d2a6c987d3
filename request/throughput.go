package request

import (
	"math"
	"time"
)

// Work is counted in prompt tokens. An output token counts as outputWork of them,
// because prefill computes many tokens at a time. The exact ratio depends on the
// device; it matters only if requests of very different shapes follow each other.
const outputWork = 8

// work of a prompt and an output, in prompt tokens.
func work(prompt int, output float64) float64 { return float64(prompt) + outputWork*output }

// How much of the past the throughput remembers.
const (
	throughputMemory = 10 * time.Second // time constant with which measurements decay
	slowestFade      = 1 - 1./16        // bounds the decay per step: about the last 16 steps always count
	firstGuess       = 128              // expected length of an output, in tokens, before one has ended
)

// throughput is the work of the engine per request-second, with decayed sums: busy and
// done decay together, so neither a measurement's age nor idle time changes the ratio.
type throughput struct {
	at     time.Duration // time up to which busy is counted
	faded  time.Duration // of the last step with work
	busy   float64       // request-seconds, of at most as many requests as can run at once
	done   float64       // work
	steps  float64       // steps with work
	window float64       // number of requests in the means below

	// Sums over requests that have ended.
	ends, outputs, work float64
}

func newThroughput(running int) throughput { return throughput{window: float64(max(32, 2*running))} }

// advance counts the time since the last call, for this number of runnable requests.
func (p *throughput) advance(now time.Duration, requests int) {
	if now > p.at {
		p.busy += float64(requests) * (now - p.at).Seconds()
		p.at = now
	}
}

func (p *throughput) addWork(now time.Duration, work float64) {
	f := max(math.Exp(-float64(now-p.faded)/float64(throughputMemory)), slowestFade)
	p.faded = now
	p.busy *= f
	p.done = (p.done + work) * f
	p.steps = (p.steps + 1) * f
}

// ended counts a request that ran to its end.
func (p *throughput) ended(prompt, output int) {
	f := 1 - 1/p.window
	p.ends = p.ends*f + 1
	p.outputs = p.outputs*f + float64(output)
	p.work = p.work*f + work(prompt, float64(output))
}

// meanOutput is the mean length of an output in tokens.
func (p *throughput) meanOutput() float64 {
	if p.ends == 0 {
		return firstGuess
	}
	return p.outputs / p.ends
}

// meanWork is the mean work of a request, 0 before the first one has ended.
func (p *throughput) meanWork() float64 { return p.work / max(p.ends, 1) }

// enoughSteps is how many steps with work make a measurement.
const enoughSteps = 8

// longestWait bounds every estimate.
const longestWait = 24 * time.Hour

// duration is how long the engine takes for some work if it runs a number of requests at
// once, each with the given work. Until there were enough steps, a few requests count as
// done: a new server is assumed to be fast, and less so the longer it produces nothing.
func (p *throughput) duration(total, each float64, running int) time.Duration {
	done := p.done + 4*each*max(0, 1-p.steps/enoughSteps)
	if p.busy <= 0 || total <= 0 || done <= 0 {
		return 0
	}
	seconds := total / done * p.busy / float64(max(running, 1))
	return time.Duration(min(seconds, longestWait.Seconds()) * float64(time.Second))
}
