package replay

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/memory/radix"
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

	// priority and tenant are the first request's; priorities and tenants tell
	// whether another one has others.
	priority            int32
	tenant              string
	priorities, tenants bool

	refused     int
	refusedLine int // the first one's
	refusedLen  int
	last        time.Duration // when the newest one arrives
	hashes      []uint64
}

// maxTime bounds virtual time, in ns, so that it never overflows.
const maxTime = 100 * 365 * 24 * float64(time.Hour)

// arrival is a request of the trace, at its time.
type arrival struct {
	id   messages.RequestID
	line int
	at   time.Duration
	of   *trace.Request
}

// peek returns the next arrival, or nil with io.EOF. Requests that an engine
// refuses are counted and passed over.
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

func (s *source) taken() { s.next = nil }

// compare notes whether a request has what policies tell requests apart by.
func (s *source) compare(r *trace.Request) {
	if s.read == 1 {
		s.priority, s.tenant = r.Priority, r.Tenant
	}
	s.priorities = s.priorities || r.Priority != s.priority
	s.tenants = s.tenants || r.Tenant != s.tenant
}

// lacks says of a policy that needs what the trace does not have, "" for every
// other one.
func (s *source) lacks() string {
	const only = "; of the formats, only jsonl has "
	switch policy := s.opt.Policy; {
	case s.read < 2:
	case policy == "priority" && !s.priorities:
		return "schedule-policy priority works like fcfs: all requests of the trace have the same priority" + only +
			"the key priority. Record while clients send priority, or add it to the lines"
	case policy == "fair" && !s.tenants:
		return "schedule-policy fair works like fcfs: all requests of the trace have the same tenant" + only +
			"the key tenant. Record while clients have their own keys or send user (tenant-from), or add it to the lines"
	}
	return ""
}

// take makes an arrival of a request that fits. What exceeds the model's
// context is refused, as an engine does; what exceeds the pool is an error, for
// no setting of the trace's owner can have meant it.
func (s *source) take(r *trace.Request) error {
	outputs := max(r.Output, 1)
	tokens := r.Input + outputs
	if tokens > s.opt.Model.Context {
		if s.refused++; s.refused == 1 {
			s.refusedLine, s.refusedLen = r.Line, tokens
		}
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
		return fmt.Errorf("line %d of the trace: at --speed %g the request arrives after more than 100 years; raise it", r.Line, s.opt.Speed)
	}
	s.next = &arrival{id: messages.RequestID(s.read), line: r.Line, of: r, at: time.Duration(at)}
	s.last = s.next.at
	return nil
}

// request makes up the prompt. Output has exactly the trace's length: end
// tokens are ignored.
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

// pages are the names of a prompt's whole pages, as the caches' events give
// them; good until the next call.
func (s *source) pages(prompt []int32) []uint64 {
	s.hashes = s.hashes[:0]
	hash := radix.RootHash("")
	for page := range slices.Chunk(prompt[:len(prompt)/s.opt.PageSize*s.opt.PageSize], s.opt.PageSize) {
		hash = radix.PageHash(hash, page)
		s.hashes = append(s.hashes, hash)
	}
	return s.hashes
}
