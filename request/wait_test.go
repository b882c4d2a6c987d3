package request

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// measured is a table of an engine with 8 rows that does 80 of work a second
// when all are taken, with requests of 10 output tokens and prompts of 20: one a
// second.
func measured(opt TableOptions, waiting, running int) *Table {
	opt.ContextLength, opt.PoolTokens, opt.Vocab, opt.MaxOpenRequests, opt.MaxRunning = 1000, 1000, 27, 1000, 8
	t := NewTable(opt)
	t.throughput = throughput{busy: 80, done: 1000, steps: 16, window: 32, ends: 10, outputs: 100, work: 1000}
	t.backlog = backlog{requests: waiting, prompts: 20 * waiting, outputs: 500 * waiting, classes: map[class]int{}}
	if waiting > 0 {
		t.backlog.classes[class{}] = waiting
	}
	t.running = running
	return t
}

func TestEstimatedWait(t *testing.T) {
	for name, tt := range map[string]struct {
		waiting, running int
		opt              TableOptions
		change           func(*Table)
		of               messages.Submission
		want             time.Duration
	}{
		"an empty server":            {want: 0},
		"none waits":                 {running: 8, want: 0},
		"there is room":              {waiting: 3, running: 4, want: 0},
		"the next one has no place":  {waiting: 4, running: 4, want: time.Second},
		"a line":                     {waiting: 10, running: 8, want: 11 * time.Second},
		"a longer line":              {waiting: 100, running: 8, want: 101 * time.Second},
		"nothing measured":           {waiting: 500, running: 8, change: func(t *Table) { t.throughput = newThroughput(8) }, want: 0},
		"nothing done for a minute":  {waiting: 10, running: 8, change: func(t *Table) { t.throughput = newThroughput(8); t.throughput.busy = 8 * 60 }, want: 11 * 15 * time.Second},
		"the pool is full at four":   {waiting: 10, running: 4, change: func(t *Table) { t.turnover = 8 }, want: 11 * time.Second},
		"one turnover is not enough": {waiting: 10, running: 4, change: func(t *Table) { t.turnover = 7 }, want: 7 * time.Second},
		"short limits":               {waiting: 10, running: 8, change: func(t *Table) { t.backlog.outputs = 10 }, want: 11 * 280 * time.Millisecond},
		"outputs without an end":     {waiting: 10, running: 8, change: func(t *Table) { t.backlog.fixed, t.backlog.fixedOutputs, t.backlog.outputs = 10, 600, 600 }, want: 55 * time.Second},
		"longer prompts":             {waiting: 10, running: 8, change: func(t *Table) { t.backlog.prompts = 1200 }, want: 22 * time.Second},
		"outputs that go on":         {waiting: 10, running: 8, change: func(t *Table) { t.output = 8 * 60 }, want: 55 * time.Second},
		"a dead engine":              {waiting: 10, running: 8, change: func(t *Table) { t.throughput.busy = 1e12 }, want: longestWait},
		"urgent":                     {waiting: 10, running: 8, opt: TableOptions{Priorities: true, Displace: true}, of: messages.Submission{Priority: 1}, want: time.Second},
		"not urgent":                 {waiting: 10, running: 8, opt: TableOptions{Priorities: true, Displace: true}, of: messages.Submission{Priority: -1}, want: 11 * time.Second},
		"urgent by a low number":     {waiting: 10, running: 8, opt: TableOptions{Priorities: true, Displace: true, LowFirst: true}, of: messages.Submission{Priority: -1}, want: time.Second},
		"a tenant's share":           {waiting: 10, running: 8, opt: TableOptions{Fair: true}, of: messages.Submission{Tenant: "b"}, want: 2 * time.Second},
		"a tenant with a share":      {waiting: 10, running: 8, opt: TableOptions{Fair: true}, want: 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			table := measured(tt.opt, tt.waiting, tt.running)
			if tt.change != nil {
				tt.change(table)
			}
			if got := table.wait(&tt.of); (got - tt.want).Abs() > tt.want/20 {
				t.Errorf("the wait is %s, want %s", got, tt.want)
			}
		})
	}
}

// Time without requests does not change the measurement, and a new one replaces an old
// one within some steps.
func TestPaceOverTime(t *testing.T) {
	p := newThroughput(8)
	now := time.Duration(0)
	run := func(steps int, each time.Duration, work float64) time.Duration {
		for range steps {
			now += each
			p.advance(now, 8)
			p.addWork(now, work)
		}
		return p.duration(1000, 100, 8)
	}
	if got := run(100, 100*time.Millisecond, 100); (got - time.Second).Abs() > 20*time.Millisecond {
		t.Errorf("1000 of work at 100 in a tenth of a second take %s", got)
	}
	before := p.duration(1000, 100, 8)
	now += 24 * time.Hour
	if p.advance(now, 0); p.duration(1000, 100, 8) != before {
		t.Errorf("after a day without requests the time is %s, was %s", p.duration(1000, 100, 8), before)
	}
	if got := run(64, 10*time.Second, 100); got < 80*time.Second || got > 110*time.Second {
		t.Errorf("after 64 steps at a hundredth of the throughput the time is %s, want about 100 s", got)
	}
	if got := run(1000, 100*time.Millisecond, 100); got > 2*time.Second {
		t.Errorf("after 100 s at the old throughput the time is %s, want about 1 s", got)
	}
}

func TestRetryAfterGrowsWithTheLine(t *testing.T) {
	last := 0
	for _, tt := range []struct{ waiting, want int }{{0, 1}, {60, 61}, {120, 121}, {500, 501}, {5000, longestPause}} {
		table := measured(TableOptions{}, tt.waiting, 8)
		got := table.busy(&messages.Submission{}, 1, "full").RetryAfterSeconds
		if got < tt.want*19/20 || got > tt.want*21/20 || got < last {
			t.Errorf("with %d waiting Retry-After is %d, want about %d", tt.waiting, got, tt.want)
		}
		last = got
	}
}

func TestPatience(t *testing.T) {
	for _, tt := range []struct{ queue, request, want time.Duration }{
		{0, 0, 0}, {0, time.Minute, 0}, {time.Minute, 0, 30 * time.Second}, {time.Minute, 10 * time.Second, 5 * time.Second}, {time.Minute, time.Hour, 30 * time.Second},
	} {
		opt := TableOptions{QueueTimeout: tt.queue, RequestTimeout: tt.request}
		if got := opt.Patience(); got != tt.want {
			t.Errorf("queue-timeout %s and request-timeout %s: %s, want %s", tt.queue, tt.request, got, tt.want)
		}
	}
}

// laptop does 1.3 requests a second.
func laptop(timeout time.Duration) *slowEngine {
	return newSlowEngine(slowEngine{rows: 16, fixed: 50 * time.Millisecond, row: 5 * time.Millisecond, token: time.Millisecond, chunk: 512},
		TableOptions{MaxOpenRequests: 4096, MaxRunning: 16, QueueTimeout: timeout})
}

// A call with many requests is judged by what is ahead of it: an idle server accepts it,
// however long it takes. A later call is refused with the time after which to try again,
// and the timeout of a waiting call is for the whole call.
func TestABigCallOnAnIdleServer(t *testing.T) {
	e := laptop(time.Minute)
	e.flood(1, 0.5, time.Minute, shape{50, 50})
	e.rest()
	big := e.submit(shape{50, 50}, 1000, "")
	if big.refused != nil {
		t.Fatalf("refused: %s", big.refused.Message)
	}
	for range 50 {
		e.turn(e.now)
	}
	behind := e.submit(shape{50, 50}, 1, "")
	if behind.refused == nil || behind.refused.Kind != messages.RefusedBusy || behind.refused.RetryAfterSeconds < 120 ||
		!strings.Contains(behind.refused.Message, "half of queue-timeout") || !strings.Contains(behind.refused.Message, "send it again in ") {
		t.Fatalf("after it: %+v", behind.refused)
	}
	at := e.now
	e.rest()
	if took := e.now - at; took.Seconds() < 0.5*float64(behind.refused.RetryAfterSeconds) || took.Seconds() > 2*float64(behind.refused.RetryAfterSeconds) {
		t.Errorf("Retry-After was %d, and all was done after %s", behind.refused.RetryAfterSeconds, took)
	}
	done := 0
	for _, f := range big.read().finish {
		if f.Finish.Reason == messages.FinishStop {
			done++
		}
	}
	if done != 1000 || e.now-big.arrived < 3*time.Minute {
		t.Errorf("%d of 1000 are done after %s, want all, long after the timeout", done, e.now-big.arrived)
	}
}

// With queue-timeout 0 whatever max-open-requests allows is taken and waits.
func TestWithoutQueueTimeoutEverythingIsTaken(t *testing.T) {
	for _, tt := range []struct {
		timeout time.Duration
		all     bool
	}{{0, true}, {time.Minute, false}} {
		e := laptop(tt.timeout)
		e.flood(1, 0.5, time.Minute, shape{50, 50})
		for range 1000 {
			e.submit(shape{50, 50}, 1, "")
		}
		e.rest()
		o := e.outcome(0)
		if all := o.refused+o.expired == 0; all != tt.all {
			t.Errorf("with a timeout of %s %d of %d are refused and %d ended", tt.timeout, o.refused, o.calls, o.expired)
		}
	}
}

// The estimate is published when it changes.
func TestEstimateIsPublished(t *testing.T) {
	e := laptop(time.Minute)
	for range 100 {
		e.submit(shape{50, 50}, 1, "")
		e.turn(e.now)
	}
	if want := e.table.wait(&messages.Submission{}).Round(time.Second).Seconds(); e.published != want || want < 1 {
		t.Errorf("published are %g s, the estimate is %g s", e.published, want)
	}
}
