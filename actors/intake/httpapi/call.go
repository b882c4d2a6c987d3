package httpapi

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/troupe-engine/troupe/messages"
)

const (
	eventBuffer = 32  // outputs in a call's channel; intake's table holds more
	maxUserID   = 256 // bytes of rid
)

// call is the handler's side of an accepted call.
type call struct {
	engine   Engine
	id       messages.CallID
	events   chan messages.CallEvent
	plan     *plan
	open     int                  // requests without a finish
	requests []messages.RequestID // the engine's ids, by index
	silence  *silence             // nil: the call does not stream
	ends     []func(output int)   // record the end of each request; nil when nothing is recorded
	outputs  []int                // tokens so far of each request
	use      KeyUse               // of the client's key; nil: nothing is counted
}

// lastCall numbers the calls of the process.
var lastCall atomic.Uint64

// submit sends a call to intake and waits until it is accepted or refused.
func submit(ctx context.Context, engine Engine, owner string, p *plan) (*call, *apiError) {
	if len(p.rid) > maxUserID {
		return nil, invalid("rid", "rid has %d bytes; at most %d are allowed", own(len(p.rid)), own(maxUserID))
	}
	c := &call{engine: engine, id: messages.CallID(lastCall.Add(1)), plan: p, open: len(p.subs), events: make(chan messages.CallEvent, eventBuffer), outputs: make([]int, len(p.subs))}
	engine.Send(&messages.SubmitRequests{Call: c.id, UserID: p.rid, Owner: owner, Requests: p.subs, Events: c.events})
	select {
	case event := <-c.events:
		switch event := event.(type) {
		case *messages.CallRefused:
			return nil, refused(event)
		case *messages.CallAccepted:
			c.requests = event.Requests
		}
		return c, nil
	case <-ctx.Done():
		c.close()
		return nil, clientGone(ctx, nil)
	}
}

// next returns the next output, nil at the end. A request's error ends the call.
func (c *call) next(ctx context.Context) (*messages.CallOutput, *apiError) {
	if c.open == 0 {
		return nil, nil
	}
	event, err := c.event(ctx)
	if err != nil {
		return nil, err
	}
	out, ok := event.(*messages.CallOutput)
	if !ok {
		return nil, internal("unexpected message %s from intake", own(fmt.Sprintf("%T", event)))
	}
	if c.use != nil {
		c.use.Output(out.Usage.CompletionTokens - c.outputs[out.Index])
	}
	c.outputs[out.Index] = out.Usage.CompletionTokens
	if f := out.Finish; f != nil {
		c.open--
		c.end(out.Index)
		if err := finishError(f); err != nil && !(c.plan.abortIsResult && f.Reason == messages.FinishAbort) {
			return nil, err
		}
	}
	if out.Paused && c.open > 0 {
		c.engine.Send(&messages.ResumeOutput{Call: c.id})
	}
	if c.plan.promptOnly {
		out = withoutOutput(out)
	}
	return out, nil
}

// event waits for an event of intake.
func (c *call) event(ctx context.Context) (messages.CallEvent, *apiError) {
	select {
	case event := <-c.events: // often; one channel takes less time than three
		return event, nil
	default:
	}
	var silent <-chan struct{}
	if c.silence != nil {
		silent = c.silence.over
	}
	for {
		select {
		case event := <-c.events:
			return event, nil
		case <-ctx.Done():
			return nil, clientGone(ctx, nil)
		case <-silent:
			if err := c.silence.end(); err != nil {
				return nil, err
			}
		}
	}
}

// withoutOutput hides the token of a request for the prompt only.
func withoutOutput(out *messages.CallOutput) *messages.CallOutput {
	o := *out // frozen, so a copy
	o.Text, o.Tokens, o.Usage.CompletionTokens = "", nil, 0
	if f := out.Finish; f != nil && f.Reason != messages.FinishError && f.Reason != messages.FinishAbort {
		o.Finish = &messages.Finish{Reason: messages.FinishLength, MatchedToken: -1}
	}
	return &o
}

// close drops the call at intake unless all of it was read.
func (c *call) close() {
	if c.open > 0 {
		c.engine.Send(&messages.DropCall{Call: c.id})
	}
	for i := range c.ends {
		c.end(i)
	}
}

// collect reads a call to its end and returns the last output of each request, which
// is complete if the submissions do not stream.
func (c *call) collect(ctx context.Context) ([]*messages.CallOutput, *apiError) {
	defer c.close()
	outputs := make([]*messages.CallOutput, c.open)
	for {
		out, err := c.next(ctx)
		if err != nil {
			return nil, err
		}
		if out == nil {
			return outputs, nil
		}
		if out.Finish != nil {
			outputs[out.Index] = out
		}
	}
}

// begin submits a client's call, logs its ids, and records it.
func (s *Server) begin(ctx context.Context, p *plan) (*call, *apiError) {
	c, err := submit(ctx, p.served.Engine, trailOf(ctx).key, p)
	if err != nil {
		return nil, err.about(p.name(err.Param))
	}
	if e := s.Log.Debug(); e.Enabled() {
		e.Str("request_id", trailOf(ctx).id).Str("rid_digest", digest([]byte(p.rid))).Interface("requests", c.requests).Msg("request accepted")
	}
	c.countKey(s.KeyUse, trailOf(ctx).name)
	if s.Record != nil {
		c.ends = make([]func(int), len(p.subs))
		for i := range p.subs {
			c.ends[i] = s.Record(&p.subs[i])
		}
	}
	return c, nil
}

// end records the end of a request, once.
func (c *call) end(index int) {
	if c.ends != nil && c.ends[index] != nil {
		c.ends[index](c.outputs[index])
		c.ends[index] = nil
	}
}
