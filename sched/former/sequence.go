package former

import (
	"math"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// seqState is the state of a request in the batch former.
//
//	candidate → prefilling → decoding → gone
//	               ↑            ↓
//	               └─────── retracted
//
// An end leads to gone from every state, by cancelled or closing while a launched step or
// a plan uses the lease. A sequence decodes once its prompt's last step is launched.
type seqState uint8

const (
	candidate  seqState = iota // of the plan; its request is still in the queue
	prefilling                 // has a lease; a known token is not scheduled yet
	decoding                   // has a lease; all tokens but the newest are scheduled
	retracted                  // has no lease and is admitted again before new requests
	cancelled                  // has a lease that a step or a plan still uses; its end is not reported
	closing                    // has a lease that a step still uses; its end is reported
	gone
)

var seqStateNames = [...]string{"candidate", "prefilling", "decoding", "retracted", "cancelled", "closing", "gone"}

func (s seqState) String() string { return seqStateNames[s] }

// sequence is one request in the batch former.
type sequence struct {
	req   *messages.EngineRequest
	state seqState
	// tokens are prompt and output. They are only appended to, so that every
	// prefix may be sent as a frozen slice.
	tokens []int32
	// The KV of the first done tokens is in the lease's pages, that of the first
	// scheduled ones after all launched steps, which will sample pending more tokens.
	// uncertain: the newest may sample several or none; pending counts one.
	done, scheduled int
	pending         int
	uncertain       bool
	late            bool // its mask is not made: it computes nothing before MaskReady
	wanted          int  // tokens of a prompt that the plan reserves pages for
	lease           Lease

	// For aging.
	waitingSince   time.Duration // its arrival, or when it was retracted
	aged           bool          // retracted, and goes first
	protectedUntil time.Duration // not preempted before

	// What the row on the device does not have yet: everything unless opened,
	// pages from sentPages on, and replaced pages in [staleFrom, staleTo).
	opened             bool
	sentPages          int
	staleFrom, staleTo int

	insertDue       bool            // prefill has filled whole pages that the tree does not have
	insertPostponed bool            // and they are inserted later, since a step still reads them
	prefillStep     messages.StepID // newest launched step of prefill

	cached   int // prompt tokens found in the cache at the first admission
	reported bool
	prompts  []messages.PositionLogprobs // so far; the first is for position promptAt
	promptAt int
}

// newSequence makes a candidate, which never appends to the request's own slices.
func newSequence(r *messages.EngineRequest) *sequence {
	tokens := slices.Clip(r.Prompt)
	if len(r.Output) > 0 {
		tokens = slices.Concat(r.Prompt, r.Output)
	}
	return &sequence{req: r, tokens: tokens, waitingSince: r.Arrived}
}

func (s *sequence) output() int { return len(s.tokens) - len(s.req.Prompt) }

// length is how many tokens there will be once all launched steps are done.
func (s *sequence) length() int { return len(s.tokens) + s.pending }

// alone reports whether the sequence must run alone: until a token shows it is harmless.
func (s *sequence) alone() bool { return s.req.Alone && s.output() == len(s.req.Output) }

// active reports whether the sequence takes part in steps to come.
func (s *sequence) active() bool { return s.state == prefilling || s.state == decoding }

// matchLimit is how many tokens may come from the cache.
func (s *sequence) matchLimit() int { return s.req.MatchLimit(len(s.tokens), s.reported) }

// left is how many output tokens may still come, at least 1 until it has ended.
func (s *sequence) left(contextLength int) int {
	return min(s.req.Params.MaxTokens-s.output(), contextLength-len(s.tokens))
}

// ahead is how many of them launched steps will not sample. At 0 the sequence ends
// with a step in flight, whatever that samples.
func (s *sequence) ahead(contextLength int) int { return s.left(contextLength) - s.pending }

// maxExpected bounds the output that admission expects of a request, so that one without
// max_tokens does not keep all others out (SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION).
const maxExpected = 4096

// expected is how many output tokens admission charges for beyond launched steps.
func (s *sequence) expected(ratio float64, contextLength int) int {
	left := s.ahead(contextLength)
	return min(left, max(1, int(math.Ceil(float64(min(left, maxExpected))*ratio))))
}

// pagesAfter is how many pages it needs for output more tokens after those of launched
// steps. The last token has no KV.
func (s *sequence) pagesAfter(output, pageSize int) int {
	return paging.Pages(s.length()+output-1, pageSize)
}

// missing is how many pages it needs for its next steps. For a prompt in progress
// that is what the plan reserves for it, whatever the number of steps.
func (s *sequence) missing(steps int, o *Options) int {
	switch s.state {
	case prefilling:
		return s.lease.Missing(s.wanted, o.PageSize)
	case decoding:
		if s.length()+steps-1 <= s.lease.Capacity(o.PageSize) {
			return 0 // most rows, most times: without a division or a look at the request
		}
		return max(0, s.pagesAfter(min(steps, s.ahead(o.ContextLength)), o.PageSize)-len(s.lease.Pages))
	}
	return 0
}

// rest is how many known tokens are not scheduled yet.
func (s *sequence) rest() int { return len(s.tokens) - s.scheduled }

// computable is how many more tokens have pages.
func (s *sequence) computable(pageSize int) int { return s.lease.Capacity(pageSize) - s.scheduled }

// outgrown reports whether a decoding sequence got more tokens, while the plan was
// out, than that reserved pages for. The next plan does.
func (s *sequence) outgrown(o *Options) bool {
	return (o.TokensPerStep > 1 || s.req.Params.Grammar != nil) && s.state == decoding && s.computable(o.PageSize) < 1
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

// addPrompts appends the log probabilities of a step, until they are reported.
func (s *sequence) addPrompts(m *messages.PromptLogprobs) {
	if !s.req.WantsPromptLogprobs() || s.reported {
		return
	}
	if len(s.prompts) == 0 {
		s.promptAt = m.First
	}
	invariants.Check(m.First == s.promptAt+len(s.prompts),
		"request %d: prompt logprobs from position %d follow [%d, %d)", s.req.ID, m.First, s.promptAt, s.promptAt+len(s.prompts))
	s.prompts = append(s.prompts, m.Logprobs...)
}

// start gives the sequence a row and the prefix that the cache has locked.
func (s *sequence) start(row messages.Row, match messages.PrefixLocked, pageSize int) {
	s.lease = OpenLease(row, match, pageSize)
	s.done, s.scheduled = s.lease.Cached, s.lease.Cached
	if s.state == candidate && !s.reported {
		s.cached = min(s.lease.Cached, len(s.req.Prompt))
	}
	s.state = prefilling
	s.late, s.opened, s.sentPages, s.staleFrom, s.staleTo, s.insertDue, s.insertPostponed = false, false, len(match.Pages), 0, 0, false, false
}
