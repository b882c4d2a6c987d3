package former

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/pace"
	"github.com/troupe-engine/troupe/sched/queue"
)

// virtual is queue, batch former, cache and allocator with a device on virtual
// time: it computes one step after the other, each as long as cost says.
// Messages take no time.
type virtual struct {
	loop
	now  time.Duration
	cost func(pace.Load) float64 // seconds of a step
	// draw gives the token after a sequence's known ones; nil draws none that
	// ends anybody.
	draw  func(s *sequence) int32
	steps []*messages.RunBatch
	ready time.Duration // when the device is done with the steps it has begun
	ids   messages.RequestID

	last  map[messages.RequestID]time.Duration // newest token
	first map[messages.RequestID]int           // steps done when the first token came
	// firstAt is when it came.
	firstAt map[messages.RequestID]time.Duration
	gaps    []gap
	ended   []messages.RequestID
	tokens  int // of output, so far
	prompt  int // tokens of prompts computed, again or for the first time
	done    int // steps
	notes   []string
	audits  []*messages.SlotsAudited // answers to intake's questions
	failed  []*messages.FailEpoch

	retractions int
	locks       int // prefixes that were looked up
	shown       int // requests that run, by the gauge
}

// gap is the time between two tokens of a request.
type gap struct{ at, took time.Duration }

func newVirtual(opt Options, cost func(pace.Load) float64) *virtual {
	return &virtual{
		loop: loop{
			queue: queue.New(queue.Options{}), former: New(opt),
			cache: radix.New(radix.Options{PageSize: opt.PageSize, Disabled: opt.CacheDisabled}),
			alloc: pages.New(pages.Options{Pages: opt.Pages}),
		},
		cost: cost, last: map[messages.RequestID]time.Duration{}, first: map[messages.RequestID]int{}, firstAt: map[messages.RequestID]time.Duration{},
	}
}

// enqueue sends one request whose prompt no other one shares.
func (v *virtual) enqueue(prompt, output int, change func(*messages.EngineRequest)) messages.RequestID {
	v.ids++
	r := &messages.EngineRequest{ID: v.ids, Prompt: make([]int32, prompt), Params: &messages.SamplingParams{
		MaxTokens: output, IgnoreEOS: true, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}}
	for i := range r.Prompt {
		r.Prompt[i] = int32(v.ids)
	}
	if change != nil {
		change(r)
	}
	v.deliver(messages.Queue, &messages.EnqueueRequests{Requests: []*messages.EngineRequest{r}})
	return r.ID
}

func (v *virtual) finish(ids ...messages.RequestID) {
	v.deliver(messages.Queue, &messages.FinishRequests{IDs: ids})
}

func (v *virtual) deliver(to messages.Actor, msg any) {
	v.mail = append(v.mail, messages.Send{To: to, Msg: msg})
	for i := 0; i < len(v.mail); i++ {
		m := v.mail[i]
		switch m.To {
		case messages.Queue:
			v.queue.Handle(v.now, m.Msg.(messages.ToQueue), &v.out)
		case messages.Former:
			v.former.Handle(v.now, m.Msg.(messages.ToFormer), &v.out)
		case messages.Cache:
			if lock, ok := m.Msg.(*messages.LockPrefixes); ok {
				v.locks += len(lock.Prefixes)
			}
			v.cache.Handle(v.now, m.Msg.(messages.ToCache), &v.out)
		case messages.Allocator:
			v.alloc.Handle(v.now, m.Msg.(messages.ToAllocator), &v.out)
		case messages.Runner:
			v.steps = append(v.steps, m.Msg.(*messages.RunBatch))
			if len(v.steps) == 1 {
				v.begin()
			}
		case messages.Intake:
			switch r := m.Msg.(type) {
			case *messages.StepResults:
				v.results(r)
			case *messages.SlotsAudited:
				v.audits = append(v.audits, r)
			}
		case messages.Supervisor:
			v.failed = append(v.failed, m.Msg.(*messages.FailEpoch))
		}
		for _, r := range v.out.Readings {
			switch r.Metric {
			case messages.Retractions:
				v.retractions++
			case messages.RequestsRunning:
				v.shown = int(r.Value)
			}
		}
		for _, n := range v.out.Notes {
			v.notes = append(v.notes, n.Text)
		}
		v.mail = append(v.mail, v.out.Sends...)
		v.out.Reset()
	}
	clear(v.mail)
	v.mail = v.mail[:0]
}

// begin lets the device start with the next step.
func (v *virtual) begin() {
	v.ready = v.now + time.Duration(v.cost(pace.LoadOf(v.steps[0]))*float64(time.Second))
}

func (v *virtual) results(r *messages.StepResults) {
	for _, t := range r.Tokens {
		v.tokens++
		if at, ok := v.last[t.ID]; ok {
			v.gaps = append(v.gaps, gap{v.now, v.now - at})
		} else {
			v.first[t.ID], v.firstAt[t.ID] = v.done, v.now
		}
		v.last[t.ID] = v.now
	}
	for _, e := range r.Ended {
		v.ended = append(v.ended, e.ID)
	}
}

// step lets the device finish a step; false when it has none.
func (v *virtual) step() bool {
	if len(v.steps) == 0 {
		return false
	}
	b := v.steps[0]
	v.steps = v.steps[1:]
	v.now = v.ready
	if len(v.steps) > 0 {
		v.begin()
	}
	v.done++
	v.prompt += pace.LoadOf(b).Tokens
	d := &messages.BatchDone{Step: b.Step}
	for i, w := range b.Work {
		if w.Sample > 0 {
			token := int32(1000 + i)
			if s := v.former.batch.byRow[w.Row]; v.draw != nil && s != nil {
				token = v.draw(s)
			}
			d.Sampled = append(d.Sampled, messages.SampledToken{Row: w.Row, Token: token})
		}
	}
	v.deliver(messages.Former, d)
	return true
}

// quantile is of the gaps between tokens since a time.
func (v *virtual) quantile(q float64, since time.Duration) time.Duration {
	var took []time.Duration
	for _, g := range v.gaps {
		if g.at > since {
			took = append(took, g.took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[int(q*float64(len(took)-1))]
}

// linear is the cost of a device that is linear in everything, about that of an
// 8B model on one big GPU.
func linear(l pace.Load) float64 {
	return 5e-3 + 10e-6*float64(l.Rows) + 30e-9*float64(l.Context) + 40e-6*float64(l.Tokens) + 0.2e-9*l.Pairs
}

// roofline reads the weights however little there is to compute, so that the
// first tokens of prompts cost nothing.
func roofline(l pace.Load) float64 {
	return max(6e-3, 40e-6*float64(l.Tokens+l.Rows)) + 30e-9*float64(l.Context) + 0.2e-9*l.Pairs
}

// noisy makes steps vary by up to 5 %, and one in 300 take twice as long.
func noisy(cost func(pace.Load) float64, seed uint64) func(pace.Load) float64 {
	r := rand.New(rand.NewPCG(seed, 3))
	return func(l pace.Load) float64 {
		c := cost(l) * (1 + 0.05*r.Float64())
		if r.IntN(300) == 0 {
			c *= 2
		}
		return c
	}
}
