package request

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"pgregory.net/rapid"
)

// shape is what requests of a kind are like.
type shape struct{ prompt, output int }

// slowEngine is an engine in virtual time: first come, first served, with a number of
// rows and steps whose time depends on their rows and tokens.
type slowEngine struct {
	rows              int
	row, token, fixed time.Duration // of a step: per decoding row, per token of a prompt, at all
	chunk             int           // tokens of prompts in a step

	now     time.Duration
	table   *Table
	core    *Core
	out     messages.Outbox
	seq     uint64
	line    []*slowRequest
	running []*slowRequest
	dropped map[messages.RequestID]bool
	timers  []slowTimer
	calls   []*slowCall
	byID    map[messages.RequestID]*slowCall
	busy    time.Duration // steps with every row taken
	tokens  int
	// published is the last reading of the estimate.
	published float64
}

type slowTimer struct {
	at  time.Duration
	msg messages.ToIntake
}

type slowRequest struct {
	req     *messages.EngineRequest
	call    *slowCall
	left    int // prompt tokens to compute
	outputs int
	length  int
}

type slowCall struct {
	*client
	arrived, begun time.Duration // begun: -1 before a request was admitted
	length         int
	open, waiting  int // when it came
	held           int // entries of the table then, ended ones included
	full           bool
}

func newSlowEngine(e slowEngine, opt TableOptions) *slowEngine {
	opt.ContextLength, opt.PoolTokens, opt.Vocab = 1<<20, 1<<20, 27
	e.table, e.dropped, e.byID = NewTable(opt), map[messages.RequestID]bool{}, map[messages.RequestID]*slowCall{}
	e.core = NewCore(e.table, CoreOptions{Detokenizer: wordDetok{}})
	e.step(&messages.EpochStarted{Header: messages.Header{Epoch: 1}})
	return &e
}

func (e *slowEngine) step(m messages.ToIntake) {
	e.out.Reset()
	e.core.Handle(e.now, m, &e.out)
	for _, s := range e.out.Sends {
		switch m := s.Msg.(type) {
		case *messages.EnqueueRequests:
			for _, q := range m.Requests {
				e.line = append(e.line, &slowRequest{req: q, left: len(q.Prompt)})
			}
		case *messages.FinishRequests:
			for _, id := range m.IDs {
				e.dropped[id] = true
			}
		case *messages.FailEpoch:
			panic(m.Cause)
		}
	}
	for _, r := range e.out.Readings {
		if r.Metric == messages.QueueWait {
			e.published = r.Value
		}
	}
	for _, t := range e.out.Timers {
		e.timers = append(e.timers, slowTimer{e.now + t.After, t.Msg.(messages.ToIntake)})
	}
}

// submit opens a call of n equal requests.
func (e *slowEngine) submit(s shape, n int, tenant string) *slowCall {
	k := &slowCall{client: newClient(n + 4), arrived: e.now, begun: -1, length: s.output, open: e.table.running + e.table.backlog.requests, waiting: e.table.backlog.requests, held: e.table.Open()}
	_, free := e.table.capacity()
	k.full = free == 0 && e.table.running < e.table.opt.MaxRunning
	m := &messages.SubmitRequests{Call: messages.CallID(len(e.calls) + 1), Events: k.events}
	for range n {
		p := params()
		p.MaxTokens = 4 * s.output // the length is not known before
		m.Requests = append(m.Requests, messages.Submission{Prompt: make([]int32, s.prompt), Params: p, After: -1, Tenant: tenant})
	}
	e.calls = append(e.calls, k)
	e.step(m)
	for _, id := range k.read().accepted {
		e.byID[id] = k
	}
	return k
}

// turn runs one step of the engine, or waits until the given time if there is
// nothing to do. It never goes past that time but for the step under way.
func (e *slowEngine) turn(until time.Duration) {
	m := &messages.StepResults{Header: messages.Header{Epoch: 1}}
	release := func(list []*slowRequest) []*slowRequest {
		return slices.DeleteFunc(list, func(r *slowRequest) bool {
			if e.dropped[r.req.ID] {
				m.Ended = append(m.Ended, messages.RequestEnded{ID: r.req.ID, Reason: messages.EndCancelled})
			}
			return e.dropped[r.req.ID]
		})
	}
	e.line, e.running = release(e.line), release(e.running)
	for len(e.running) < e.rows && len(e.line) > 0 {
		r := e.line[0]
		e.line, e.running = e.line[1:], append(e.running, r)
		m.Admitted = append(m.Admitted, r.req.ID)
		r.call = e.byID[r.req.ID]
		if r.length = r.call.length; r.call.begun < 0 {
			r.call.begun = e.now
		}
	}
	if len(e.running) == 0 && len(m.Ended) == 0 {
		e.pass(until)
		return
	}
	took, budget := e.fixed, e.chunk
	for _, r := range e.running {
		n := min(r.left, budget)
		r.left -= n
		budget -= n
		took += time.Duration(n) * e.token
		if r.left > 0 {
			continue
		}
		if r.outputs == 0 {
			m.Prompts = append(m.Prompts, messages.PromptResult{ID: r.req.ID})
		} else {
			took += e.row
		}
		token := int32(0)
		if r.outputs+1 == r.length {
			token = eos
		}
		m.Tokens = append(m.Tokens, messages.TokenResult{ID: r.req.ID, Position: r.outputs, Token: token})
		if r.outputs++; token == eos {
			m.Ended = append(m.Ended, messages.RequestEnded{ID: r.req.ID, Reason: messages.EndEOS, Token: eos})
		}
	}
	if len(e.running) == e.rows {
		e.busy += took
	}
	e.tokens += len(m.Tokens)
	e.running = slices.DeleteFunc(e.running, func(r *slowRequest) bool { return r.outputs == r.length })
	e.pass(e.now + took)
	// What was aborted meanwhile still got its token.
	e.seq++
	m.Seq = e.seq
	e.step(m)
}

// pass lets time go by, with the timers that become due.
func (e *slowEngine) pass(until time.Duration) {
	for {
		due := -1
		for i, t := range e.timers {
			if t.at <= until && (due < 0 || t.at < e.timers[due].at) {
				due = i
			}
		}
		if due < 0 {
			break
		}
		t := e.timers[due]
		e.timers = slices.Delete(e.timers, due, due+1)
		e.now = max(e.now, t.at)
		e.step(t.msg)
	}
	e.now = max(e.now, until)
}

// flood sends requests of some shapes at random times, with an average rate per second,
// for a time.
func (e *slowEngine) flood(seed uint64, rate float64, d time.Duration, shapes ...shape) {
	r := rand.New(rand.NewPCG(seed, 5))
	end, next := e.now+d, e.now
	for e.now < end {
		for next <= e.now {
			s := shapes[r.IntN(len(shapes))]
			s.output = 1 + int(min(r.ExpFloat64(), 4)*float64(s.output))
			e.submit(s, 1, "")
			next += time.Duration(r.ExpFloat64() / rate * float64(time.Second))
		}
		e.turn(min(next, end))
	}
}

// rest continues until nothing is open.
func (e *slowEngine) rest() {
	for e.table.Open() > 0 {
		e.turn(e.now + time.Second)
	}
}

// outcome counts what became of the calls that came since a time.
type outcome struct {
	calls, refused, expired int
	longest                 time.Duration // until the first request was admitted
}

func (e *slowEngine) outcome(since time.Duration) (o outcome) {
	for _, k := range e.calls {
		k.read()
		if k.arrived < since {
			continue
		}
		o.calls++
		if k.refused != nil {
			o.refused++
			continue
		}
		for _, f := range k.finish {
			if f.Finish.Kind == messages.RefusedTimeout {
				o.expired++
				break
			}
		}
		if k.begun >= 0 {
			o.longest = max(o.longest, k.begun-k.arrived)
		}
	}
	return o
}

// An overload of ten times the capacity, for models of very different speed: the server
// continues at full speed, refuses at once what would wait for too long, and nothing that
// it accepts waits longer than queue-timeout or times out. Then it becomes idle.
func TestOverload(t *testing.T) {
	const timeout = time.Minute
	for name, tt := range map[string]struct {
		engine slowEngine
		shapes []shape
		d      time.Duration
	}{
		"quick":            {slowEngine{rows: 64, fixed: time.Millisecond, row: 20 * time.Microsecond, token: 2 * time.Microsecond}, []shape{{100, 100}}, 4 * time.Second},
		"laptop":           {slowEngine{rows: 64, fixed: 50 * time.Millisecond, row: 5 * time.Millisecond, token: time.Millisecond}, []shape{{200, 100}}, 20 * time.Minute},
		"slow":             {slowEngine{rows: 16, fixed: time.Second, row: 20 * time.Millisecond, token: 10 * time.Millisecond}, []shape{{50, 100}}, 3 * time.Hour},
		"one by one":       {slowEngine{rows: 1, fixed: 50 * time.Millisecond, token: time.Millisecond}, []shape{{50, 60}}, time.Hour},
		"prompts only":     {slowEngine{rows: 64, fixed: 10 * time.Millisecond, token: time.Millisecond}, []shape{{2000, 1}}, 20 * time.Minute},
		"mixed":            {slowEngine{rows: 32, fixed: 20 * time.Millisecond, row: 5 * time.Millisecond, token: time.Millisecond}, []shape{{20, 20}, {20, 400}, {3000, 10}}, 30 * time.Minute},
		"a pool for eight": {slowEngine{rows: 8, fixed: 100 * time.Millisecond, row: 10 * time.Millisecond, token: time.Millisecond}, []shape{{100, 100}}, 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			tt.engine.chunk = 512
			opt := TableOptions{MaxOpenRequests: 400, MaxRunning: tt.engine.rows, QueueTimeout: timeout}
			if name == "a pool for eight" {
				opt.MaxRunning = 64 // there are more rows than the pool has room for
			}
			peak := capacity(tt.engine, tt.shapes)
			e := newSlowEngine(tt.engine, opt)
			e.flood(1, 10*peak, tt.d, tt.shapes...)
			began := e.now
			all, late := e.outcome(0), e.outcome(tt.d/3)
			t.Logf("capacity %.2f/s, %d calls: %d refused, %d expired, longest wait %s; after the first third %d, %d, %d, %s; all rows taken %.3f of the time",
				peak, all.calls, all.refused, all.expired, all.longest, late.calls, late.refused, late.expired, late.longest, e.busy.Seconds()/tt.d.Seconds())
			if all.longest > timeout+10*time.Millisecond+tt.engine.fixed {
				t.Errorf("a request that was taken waited for %s", all.longest)
			}
			if taken := late.calls - late.refused; late.expired*20 > taken {
				t.Errorf("%d of %d were taken and then given up", late.expired, taken)
			}
			if refused := float64(late.refused) / float64(late.calls); refused < 0.8 || refused > 0.95 {
				t.Errorf("%.2f of the calls are refused at ten times the capacity", refused)
			}
			if share := e.busy.Seconds() / tt.d.Seconds(); name != "prompts only" && share < 0.9 {
				t.Errorf("all rows are taken for %.2f of the time only", share)
			}
			e.rest()
			if rest := e.now - began; e.table.wait(&messages.Submission{}) != 0 || len(e.table.calls) != 0 || rest > 20*timeout {
				t.Errorf("%s later the server is not at rest", rest)
			}
			k := e.submit(tt.shapes[0], 1, "")
			if k.refused != nil {
				t.Errorf("at rest, a call is refused: %s", k.refused.Message)
			}
		})
	}
}

// capacity is how many requests a second an engine ends that has always enough
// of them.
func capacity(engine slowEngine, shapes []shape) float64 {
	e := newSlowEngine(engine, TableOptions{MaxOpenRequests: 1 << 20})
	r := rand.New(rand.NewPCG(9, 5))
	for range 20 * engine.rows {
		s := shapes[r.IntN(len(shapes))]
		s.output = 1 + int(min(r.ExpFloat64(), 4)*float64(s.output))
		e.submit(s, 1, "")
	}
	for len(e.line) > 0 {
		e.turn(e.now + time.Hour)
	}
	return float64(19*engine.rows) / e.now.Seconds()
}

// Whatever the engine and the load, a call is accepted when no request waits, and while
// no more are open than can run at once, unless those that run have been seen to
// be all that the engine takes; and no request waits past the timeout.
func TestEstimateRefusesNoCallInVain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const timeout = 10 * time.Second
		micro := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(rt, name)) * time.Microsecond
		}
		rows := rapid.IntRange(1, 20).Draw(rt, "rows")
		e := newSlowEngine(slowEngine{rows: rows, fixed: time.Microsecond + micro("fixed", 1<<rapid.IntRange(0, 23).Draw(rt, "order")), row: micro("row", 1000), token: micro("token", 1000), chunk: 64},
			TableOptions{MaxOpenRequests: 200, MaxRunning: rows + rapid.IntRange(0, 10).Draw(rt, "more rows"), QueueTimeout: timeout, Fair: rapid.Bool().Draw(rt, "fair")})
		for range rapid.IntRange(1, 40).Draw(rt, "acts") {
			switch rapid.IntRange(0, 3).Draw(rt, "act") {
			case 0:
				e.turn(e.now + time.Second)
			case 1:
				until := e.now + time.Duration(rapid.IntRange(1, 1<<36).Draw(rt, "time"))
				for e.now < until {
					e.turn(until)
				}
			default:
				s := shape{rapid.IntRange(1, 100).Draw(rt, "prompt"), rapid.IntRange(1, 20).Draw(rt, "output")}
				tenant := rapid.SampledFrom([]string{"", "a"}).Draw(rt, "tenant")
				for range rapid.IntRange(1, 40).Draw(rt, "calls") {
					k := e.submit(s, rapid.SampledFrom([]int{1, 1, 1, 30}).Draw(rt, "n"), tenant)
					if k.refused == nil || k.refused.Kind != messages.RefusedBusy {
						continue
					}
					switch after := k.refused.RetryAfterSeconds; {
					case k.held+30 > 200: // max-open-requests, perhaps
					case k.waiting == 0:
						rt.Fatalf("refused though no request waits: %s", k.refused.Message)
					case k.open < e.table.opt.MaxRunning && !k.full:
						rt.Fatalf("refused with %d open of %d that can run: %s", k.open, e.table.opt.MaxRunning, k.refused.Message)
					case after < int(timeout.Seconds()/2) || after > longestPause:
						rt.Fatalf("Retry-After %d: %s", after, k.refused.Message)
					}
				}
			}
		}
		e.rest()
		if o := e.outcome(0); o.longest > timeout+leastPause+time.Millisecond+e.fixed+time.Duration(e.rows)*e.row+64*e.token {
			rt.Fatalf("a request waited for %s", o.longest)
		}
	})
}
