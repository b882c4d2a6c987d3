package replay

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/messages"
)

// source turns a trace into arrivals, one ahead.
type source struct {
	from trace.Reader
	opt  *Options
	pool pool.Plan

	next *arrival
	err  error // of the reader, io.EOF at the end
	read int   // requests so far

	// priorities and tenants: requests have different ones.
	first               *trace.Request
	priorities, tenants bool

	refused      int
	firstRefused *trace.Request
	last         time.Duration // when the newest one arrives
}

// maxTime bounds virtual time, in ns, so that it never overflows.
const maxTime = 100 * 365 * 24 * float64(time.Hour)

// arrival is a request of the trace, at its time.
type arrival struct {
	id messages.RequestID
	at time.Duration
	of *trace.Request
}

// peek returns the next arrival, or io.EOF. Refused requests are counted and skipped.
func (s *source) peek() (*arrival, error) {
	for s.next == nil && s.err == nil {
		if s.opt.Limit > 0 && s.read >= s.opt.Limit {
			s.err = io.EOF
			break
		}
		var r *trace.Request
		if r, s.err = s.from.Next(); s.err != nil {
			break
		}
		s.read++
		s.compare(r)
		s.err = s.take(r)
	}
	return s.next, s.err
}

// compare notes whether requests differ in what policies order them by.
func (s *source) compare(r *trace.Request) {
	s.first = cmp.Or(s.first, r)
	s.priorities = s.priorities || r.Priority != s.first.Priority
	s.tenants = s.tenants || r.Tenant != s.first.Tenant
}

// lacks is a note if the policy needs what the trace does not have, else "".
func (s *source) lacks() string {
	const only = ". Only the jsonl format has "
	switch policy := s.opt.Policy; {
	case s.read < 2:
	case policy == "priority" && !s.priorities:
		return "--policy priority works like fcfs: all requests of the trace have the same priority" + only +
			"priorities: record a new trace while clients send priority, or add \"priority\" to the lines of the file"
	case policy == "fair" && !s.tenants:
		return "--policy fair works like fcfs: all requests of the trace have the same tenant" + only +
			"tenants: record a new trace while clients have their own keys or send user (tenant-from), or add \"tenant\" to the lines of the file"
	}
	return ""
}

// take makes an arrival of a request that fits. What exceeds the model's
// context is refused, as an engine does; what exceeds the pool is an error.
func (s *source) take(r *trace.Request) error {
	outputs := max(r.Output, 1)
	tokens := r.Input + outputs
	if tokens > s.opt.Model.Context {
		s.refused++
		s.firstRefused = cmp.Or(s.firstRefused, r)
		return nil
	}
	// The last token has no KV.
	if paging.Pages(tokens-1, s.opt.PageSize) > s.pool.Pages {
		remedy := "choose a device with more memory or a smaller model"
		if s.opt.KVTokens > 0 {
			remedy = "raise --kv-tokens"
		}
		return fmt.Errorf("line %d of the trace: a request of %d tokens of prompt and %d of output does not fit into a KV pool of %d tokens; %s",
			r.Line, r.Input, outputs, s.pool.Tokens, remedy)
	}
	at := float64(r.Arrival) / s.opt.Speed
	if at > maxTime {
		return fmt.Errorf("line %d of the trace: at --speed %g the request arrives after more than 100 years; raise --speed", r.Line, s.opt.Speed)
	}
	s.next = &arrival{id: messages.RequestID(s.read), of: r, at: time.Duration(at)}
	s.last = s.next.at
	return nil
}

// request makes up the prompt. The output has the trace's length: end tokens are ignored.
func (a *arrival) request() *messages.EngineRequest {
	return &messages.EngineRequest{
		ID:     a.id,
		Prompt: a.of.Tokens(make([]int32, 0, a.of.Input)),
		Params: &messages.SamplingParams{
			TopP: 1, RepetitionPenalty: 1, MaxTokens: max(a.of.Output, 1), IgnoreEOS: true,
			TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs,
		},
		Priority: a.of.Priority, Tenant: a.of.Tenant, Arrived: a.at,
	}
}
