package replay

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// intake replaces the real one: it measures tokens and the ends of requests. A gateway's
// also keeps requests with their output, to submit them again.
type intake struct {
	world *world
	seq   uint64 // of the newest StepResults
	open  map[messages.RequestID]*open
}

// open is a request that has not ended.
type open struct {
	arrived  time.Duration
	last     time.Duration // of its newest token; 0 before the first one
	prompt   int
	output   int // wanted
	got      int
	prompted bool // its prompt was computed

	request *messages.EngineRequest // at a gateway
	tokens  []int32                 // likewise, the output so far
}

func newIntake(w *world) *intake { return &intake{world: w, open: map[messages.RequestID]*open{}} }

func (in *intake) add(r *messages.EngineRequest, arrived time.Duration) *open {
	o := &open{arrived: arrived, prompt: len(r.Prompt), output: r.Params.MaxTokens}
	in.open[r.ID] = o
	return o
}

// again is a request as it is submitted again, with the output so far.
func (o *open) again() *messages.EngineRequest {
	r := *o.request
	r.Output = slices.Clone(o.tokens)
	return &r
}

// results measures a step of an engine.
func (in *intake) results(now time.Duration, m *messages.StepResults, by *engine) {
	if in.seq++; m.Seq != in.seq {
		by.fail("step results %d came after %d; messages were lost or repeated", m.Seq, in.seq-1)
	}
	for i := range m.Prompts {
		if o := in.open[m.Prompts[i].ID]; o != nil && !o.prompted {
			o.prompted = true
			by.cachedTokens += m.Prompts[i].CachedTokens
		}
	}
	for i := range m.Tokens {
		in.token(now, &m.Tokens[i], by)
	}
	for i := range m.Ended {
		in.ended(now, &m.Ended[i], by)
	}
}

func (in *intake) token(now time.Duration, m *messages.TokenResult, by *engine) {
	o := in.open[m.ID]
	if o == nil || m.Position != o.got {
		by.fail("request %d got token %d out of order", m.ID, m.Position)
		return
	}
	if o.got++; o.got == 1 {
		in.world.firstToken(m.ID, now-o.arrived)
	} else {
		in.world.nextToken(now - o.last)
	}
	o.last = now
	if o.request != nil {
		o.tokens = append(o.tokens, m.Token)
	}
}

func (in *intake) ended(now time.Duration, m *messages.RequestEnded, by *engine) {
	o := in.open[m.ID]
	if o == nil || m.Reason != messages.EndLength || o.got != o.output {
		by.fail("request %d ended unexpectedly: event %+v, request %+v", m.ID, m, o)
		return
	}
	delete(in.open, m.ID)
	by.done.Requests++
	by.done.PromptTokens += o.prompt
	by.done.OutputTokens += o.got
	in.world.requestEnded(m.ID, now-o.arrived)
}
