package former

import (
	"math"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// seqState says where a request stands in the batch former.
//
//	candidate → prefilling → decoding → gone
//	               ↑            ↓
//	               └─────── retracted
//
// From everywhere an end leads to gone; while a launched step or a plan still
// uses the lease by way of cancelled or closing. A state is about what has been
// launched: a sequence decodes from the launch of the step that ends its prompt.
type seqState uint8

const (
	candidate  seqState = iota // of the plan; its request is still in the queue
	prefilling                 // has a lease; some known token is not scheduled yet
	decoding                   // has a lease; all tokens but the newest are scheduled
	retracted                  // has no lease and comes back before new ones
	cancelled                  // has a lease that the fence or a plan still holds; its end is not reported
	closing                    // has a lease that the fence still holds; its end is reported
	gone
)

var seqStateNames = [...]string{"candidate", "prefilling", "decoding", "retracted", "cancelled", "closing", "gone"}

// String gives the name used in failures.
func (s seqState) String() string { return seqStateNames[s] }

// sequence is one request in the batch former.
type sequence struct {
	req   *messages.EngineRequest
	state seqState
	// tokens are prompt and output. Only appended to, so that every prefix of
	// it may be sent as a frozen slice.
	tokens []int32
	// What is done and what is scheduled: the KV of so many tokens is in the
	// lease's pages now, and once all launched steps are done. pending tokens of
	// launched steps are not sampled yet; they follow those in tokens. open says
	// that the newest of those steps may bring more than the one that is counted.
	done, scheduled int
	pending         int
	open            bool
	wanted          int // tokens of a prompt in progress that the plan reserves pages for
	lease           Lease

	// How long it has waited, for aging.
	since time.Duration // of waiting: its arrival, or when it was retracted
	aged  bool          // retracted, and goes first
	safe  time.Duration // not preempted before

	// What the device's row does not know yet: whether it is open, its pages
	// from known on, and replaced pages in [staleFrom, staleTo).
	opened             bool
	known              int
	staleFrom, staleTo int
	insertDue          bool            // whole pages were filled by prefill
	postponed          bool            // their insertion is put off while steps run, perhaps for long
	filling            messages.StepID // newest launched step of prefill

	cached   int // prompt tokens found in the cache at the first admission
	reported bool
	prompts  []messages.PositionLogprobs // so far; the first is for position promptAt
	promptAt int
}

// newSequence makes a candidate. The request's own slices are never appended
// to.
func newSequence(r *messages.EngineRequest) *sequence {
	tokens := slices.Clip(r.Prompt)
	if len(r.Output) > 0 {
		tokens = slices.Concat(r.Prompt, r.Output)
	}
	return &sequence{req: r, tokens: tokens, since: r.Arrived}
}

// output is how many output tokens there are.
func (s *sequence) output() int { return len(s.tokens) - len(s.req.Prompt) }

// length is how many tokens there are once all launched steps are done.
func (s *sequence) length() int { return len(s.tokens) + s.pending }

// alone reports whether the sequence tolerates no other one: only until its
// first token, which clears it of the suspicion.
func (s *sequence) alone() bool { return s.req.Alone && s.output() == len(s.req.Output) }

// active reports whether the sequence takes part in steps to come.
func (s *sequence) active() bool { return s.state == prefilling || s.state == decoding }

// wantsPrompt reports whether the log probabilities of the prompt are still to
// be computed. With output there is an earlier submission that reported them.
func (s *sequence) wantsPrompt() bool {
	return s.req.Params.PromptLogprobs >= 0 && len(s.req.Output) == 0 && !s.reported
}

// matchLimit is how many tokens may come from the cache. One must be computed
// to sample the next; and the log probability of position i comes from the
// computation of position i-1.
func (s *sequence) matchLimit() int {
	limit := len(s.tokens) - 1
	if s.wantsPrompt() {
		limit = min(limit, max(0, s.req.Params.PromptLogprobStart-1))
	}
	return limit
}

// left is how many output tokens may still come, at least 1 while it lives.
func (s *sequence) left(contextLength int) int {
	return min(s.req.Params.MaxTokens-s.output(), contextLength-len(s.tokens))
}

// ahead is how many of them no launched step will draw. At 0 the sequence ends
// with a step that runs, whatever is drawn.
func (s *sequence) ahead(contextLength int) int { return s.left(contextLength) - s.pending }

// maxExpected bounds the output that admission expects of one request
// (SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION), so that a missing max_tokens does
// not keep everybody else out.
const maxExpected = 4096

// expected is how many output tokens admission charges for, beside those of
// launched steps.
func (s *sequence) expected(ratio float64, contextLength int) int {
	left := s.ahead(contextLength)
	return min(left, max(1, int(math.Ceil(float64(min(left, maxExpected))*ratio))))
}

// pagesAfter is how many pages hold the KV of a sequence that gets output more
// tokens after those of launched steps. The last one of them has none.
func (s *sequence) pagesAfter(output, pageSize int) int {
	return paging.Pages(s.length()+output-1, pageSize)
}

// take appends a sampled token and says why it ends the request, or 0.
func (s *sequence) take(token int32, contextLength int) messages.EndReason {
	s.tokens = append(s.tokens, token)
	reason := s.req.Params.EndOf(token, s.output())
	if reason == 0 && len(s.tokens) >= contextLength {
		return messages.EndLength
	}
	return reason
}

// addPrompts appends log probabilities of one step.
func (s *sequence) addPrompts(m *messages.PromptLogprobs) {
	if !s.wantsPrompt() {
		return
	}
	if len(s.prompts) == 0 {
		s.promptAt = m.First
	}
	invariants.Check(m.First == s.promptAt+len(s.prompts),
		"request %d: prompt logprobs from position %d follow [%d, %d)", s.req.ID, m.First, s.promptAt, s.promptAt+len(s.prompts))
	s.prompts = append(s.prompts, m.Logprobs...)
}

// admitted gives the sequence its row and the prefix that the cache locked.
func (s *sequence) admitted(row messages.Row, match messages.PrefixLocked, pageSize int) {
	s.lease = OpenLease(row, match, pageSize)
	s.done, s.scheduled = s.lease.Cached, s.lease.Cached
	if s.state == candidate && !s.reported {
		s.cached = min(s.lease.Cached, len(s.req.Prompt))
	}
	s.state = prefilling
	s.opened, s.known, s.staleFrom, s.staleTo, s.insertDue, s.postponed = false, len(match.Pages), 0, 0, false, false
}
