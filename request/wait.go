package request

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// The wait of a new request is estimated from the work ahead and the engine's throughput:
//
//	work = requests ahead × mean work of the waiting requests
//	wait = work / throughput
//
// For the mean work, prompts are known. Outputs are expected to be as long as
// recent ones, or as long as the request allows if that is less; with ignore_eos
// they are expected to use the whole limit. The throughput is measured per running
// request, so that a server with little to do does not count as a slow one.
//
// No estimate refuses a call while fewer requests are open than can run at once,
// or while no request waits: the estimate would be based on too little. A call
// is judged by what is ahead of it, not by its own size.

// fullTurn is how many requests must end, always with a backlog, until the running ones
// count as all that fit: the KV pool may be full before the rows are.
const fullTurn = 8

// capacity is how many requests can run at once, and how many more than now.
func (t *Table) capacity() (all, free int) {
	if t.backlog.requests > 0 && t.turnover >= max(t.running, fullTurn) {
		return t.occupied(), 0
	}
	return t.opt.MaxRunning, max(0, t.opt.MaxRunning-t.running)
}

// occupied is how many requests run or could run if they were admitted.
func (t *Table) occupied() int { return min(t.backlog.requests+t.running, t.opt.MaxRunning) }

// outputGuess is the expected length of an output, at least the mean of the running ones.
func (t *Table) outputGuess() float64 {
	return max(t.throughput.meanOutput(), float64(t.output)/float64(max(t.running, 1)))
}

// meanWork is the mean work of the waiting requests, or of ended ones if none waits.
func (t *Table) meanWork() float64 {
	b := &t.backlog
	if b.requests == 0 {
		return t.throughput.meanWork()
	}
	output := float64(b.fixedOutputs) + min(float64(b.requests-b.fixed)*t.outputGuess(), float64(b.outputs-b.fixedOutputs))
	return work(b.prompts, output) / float64(b.requests)
}

// timeFor is how long it takes until a number of requests is admitted.
func (t *Table) timeFor(requests int) time.Duration {
	all, _ := t.capacity()
	each := t.meanWork()
	return t.throughput.duration(float64(requests)*each, each, all)
}

// wait is how long a new request would wait for its admission.
func (t *Table) wait(s *messages.Submission) time.Duration {
	if t.backlog.requests == 0 {
		return 0
	}
	_, free := t.capacity()
	if n := t.backlog.ahead(&t.opt, s) + 1 - free; n > 0 {
		return t.timeFor(n)
	}
	return 0
}

// Patience is the longest estimated wait with which a call is accepted: half of its
// timeout, because an estimate may be wrong by a factor of two. Zero: no bound.
func (o *TableOptions) Patience() time.Duration {
	switch {
	case o.QueueTimeout == 0:
		return 0
	case o.RequestTimeout > 0:
		return min(o.QueueTimeout, o.RequestTimeout) / 2
	}
	return o.QueueTimeout / 2
}

// unqueue subtracts an entry from queuedTokens.
func (t *Table) unqueue(e *entry) {
	if e.queued {
		e.queued = false
		t.queuedTokens -= len(e.sub.Prompt)
	}
}

func (t *Table) startWaiting(e *entry) {
	e.waits = true
	t.backlog.change(e, t.opt.classOf(&e.sub), 1)
}

// stopWaiting removes an entry from the backlog. Without a backlog the turnover is 0.
func (t *Table) stopWaiting(e *entry) {
	e.waits = false
	t.backlog.change(e, t.opt.classOf(&e.sub), -1)
	if t.backlog.requests == 0 {
		t.turnover = 0
	}
}

func (t *Table) admitted(e *entry) {
	if e.waits {
		t.stopWaiting(e)
		e.runs, e.call.begun = true, true
		t.running++
	}
}

// countEnd removes an ended entry from the sums, and measures its size if it ran.
func (t *Table) countEnd(e *entry) {
	if e.waits {
		t.stopWaiting(e)
	}
	if !e.runs {
		return
	}
	e.runs = false
	t.running--
	t.output -= len(e.output)
	t.throughput.ended(len(e.sub.Prompt), len(e.output))
	if t.backlog.requests > 0 {
		t.turnover++
	}
}
