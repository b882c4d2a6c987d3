package request

import (
	"fmt"
	"math"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// How long a new request would wait for its admission is estimated by the work
// ahead of it and the pace of the engine:
//
//	work = requests ahead × mean work of those who wait
//	wait = work / pace
//
// The mean work is that of the prompts, which are known, and of the outputs,
// whose length is that of outputs of late, or what the requests allow if that is
// less; with ignore_eos it is what they allow. The pace is measured per running request, so that a server with little
// to do is not taken for a slow one.
//
// Nobody is refused for an estimate while as many requests are open as can run
// at once, or nobody waits: there, an estimate has nothing to go by. A call is
// judged by what is ahead of it, not by how much it brings.

// fullTurn is after how many ends, if somebody waited all the time, the running
// requests are taken for all that the engine has room for: its KV pool may be
// what is full, while there are rows.
const fullTurn = 8

// places is how many requests can run at once, and how many more than do now.
func (t *Table) places() (all, free int) {
	if t.line.requests > 0 && t.turnover >= max(t.running, fullTurn) {
		return t.occupied(), 0
	}
	return t.opt.MaxRunning, max(0, t.opt.MaxRunning-t.running)
}

// occupied is how many of the places that the engine has are asked for.
func (t *Table) occupied() int { return min(t.line.requests+t.running, t.opt.MaxRunning) }

// outputGuess is how many tokens an output will have on average: no less than
// those have that are under way.
func (t *Table) outputGuess() float64 {
	return max(t.pace.output(), float64(t.output)/float64(max(t.running, 1)))
}

// meanWork is the work of one of those who wait; of those who have ended, if
// nobody waits.
func (t *Table) meanWork() float64 {
	l := &t.line
	if l.requests == 0 {
		return t.pace.request()
	}
	output := float64(l.certainMost) + min(float64(l.requests-l.certain)*t.outputGuess(), float64(l.most-l.certainMost))
	return work(l.prompts, output) / float64(l.requests)
}

// timeFor is how long it takes until so many more requests are admitted.
func (t *Table) timeFor(requests int) time.Duration {
	all, _ := t.places()
	each := t.meanWork()
	return t.pace.time(float64(requests)*each, each, all)
}

// wait is how long a new request would wait for its admission.
func (t *Table) wait(s *messages.Submission) time.Duration {
	if t.line.requests == 0 {
		return 0
	}
	_, free := t.places()
	if n := t.ahead(s) + 1 - free; n > 0 {
		return t.timeFor(n)
	}
	return 0
}

// Patience is the longest estimated wait with which a call is taken: half of the
// time after which it would be ended, so that an estimate may be wrong by a
// factor of two. Zero is no bound.
func (o *TableOptions) Patience() time.Duration {
	switch {
	case o.QueueTimeout == 0:
		return 0
	case o.RequestTimeout > 0:
		return min(o.QueueTimeout, o.RequestTimeout) / 2
	}
	return o.QueueTimeout / 2
}

// tooLong refuses a call that would wait for too long.
func (t *Table) tooLong(m *messages.SubmitRequests) *messages.CallRefused {
	most := t.opt.Patience()
	if most == 0 {
		return nil
	}
	s := &m.Requests[0]
	wait := t.wait(s)
	if wait <= most {
		return nil
	}
	return t.busy(s, 1, fmt.Sprintf("%d requests wait and a new one would have its turn in about %s, the server takes none that would wait for more than %s (half of queue-timeout)",
		t.line.requests, wait.Round(time.Second), most))
}

// busy refuses a call for now.
func (t *Table) busy(s *messages.Submission, inTheWay int, message string) *messages.CallRefused {
	pause := t.pause(s, inTheWay)
	return &messages.CallRefused{Kind: messages.RefusedBusy, Loggable: true, Message: fmt.Sprintf("%s; send it again in %d s", message, pause),
		Code: "rate_limit_exceeded", RetryAfterSeconds: pause}
}

// longestPause is the most that Retry-After says, in seconds: what is ahead may
// be gone earlier, since clients leave and estimates are wrong.
const longestPause = 600

// pause is when a client should come back, in seconds: when those who wait have
// been admitted, and as many requests as are in the way have ended.
func (t *Table) pause(s *messages.Submission, inTheWay int) int {
	wait := max(t.wait(s), t.timeFor(inTheWay))
	return int(min(max(math.Ceil(wait.Seconds()), 1), longestPause))
}
