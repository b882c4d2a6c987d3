package request

import (
	"fmt"
	"math"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// The wait of a new request for its admission is estimated from the work ahead
// of it and the throughput of the engine:
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

func (t *Table) waitTooLong(m *messages.SubmitRequests) *messages.CallRefused {
	most := t.opt.Patience()
	if most == 0 {
		return nil
	}
	s := &m.Requests[0]
	wait := t.wait(s)
	if wait <= most {
		return nil
	}
	return t.busy(s, 1, fmt.Sprintf("%d requests are waiting and a new one would wait about %s, but at most %s is accepted (half of queue-timeout)",
		t.backlog.requests, wait.Round(time.Second), most))
}

// busy refuses a call for now. excess is how many requests must end before it fits.
func (t *Table) busy(s *messages.Submission, excess int, message string) *messages.CallRefused {
	pause := t.pause(s, excess)
	return &messages.CallRefused{Kind: messages.RefusedBusy, Loggable: true, Message: fmt.Sprintf("%s; send it again in %d s", message, pause),
		Code: "rate_limit_exceeded", RetryAfterSeconds: pause}
}

// longestPause is the largest Retry-After in seconds: longer estimates are too rough.
const longestPause = 600

// pause is after how many seconds a client should try again: when a new request would
// be admitted, and excess requests have ended.
func (t *Table) pause(s *messages.Submission, excess int) int {
	wait := max(t.wait(s), t.timeFor(excess))
	return int(min(max(math.Ceil(wait.Seconds()), 1), longestPause))
}
