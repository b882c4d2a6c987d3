package former

import (
	"cmp"
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
)

// Options configure a Core. Limits are hard unless marked soft.
type Options struct {
	// PageSize is the number of tokens in a page: a power of two. Example: 16.
	PageSize int
	// Pages is the number of usable pages of the pool. Example: 4096.
	Pages int
	// MaxRunning is the number of rows: how many requests may run at once. Example: 64.
	MaxRunning int
	// MaxPrefillTokens is the most tokens that one step computes, decoding rows
	// included. 0 means DefaultMaxPrefillTokens. Soft: without chunks a longer prompt
	// is computed whole, and prefill always gets a page per step.
	MaxPrefillTokens int
	// ChunkedPrefillSize is the most tokens of long prompts that one step computes,
	// decoding rows included. 0 or less means no chunks. Soft as above. Example: 512.
	ChunkedPrefillSize int
	// InterTokenLatencyTarget is the target for the duration of a step with decoding
	// rows: chunks of prompts are made small enough for 99 of 100 steps to keep it.
	// 0 means no target. It needs chunks. Soft: a page or 16 tokens of prompts,
	// whichever is more, are computed in any case. Example: 50 ms.
	InterTokenLatencyTarget time.Duration
	// ContextLength ends a request at this many tokens, prompt and output. Example: 1024.
	ContextLength int
	// StepsInFlight is how many steps may be launched and not done: 1, or 2 to plan
	// a step while the previous one runs. 0 means 1.
	StepsInFlight int
	// TokensPerStep is the most tokens that the device may sample for a row in one
	// step, if it speculates. 0 means 1. A row that may get several is not computed
	// in the next step before they are known.
	TokensPerStep int
	// GrammarTokensPerStep is the same for a request with a grammar, which may leave no choice
	// about several tokens. They go on pages that the row has; none are reserved for them. 0
	// means 1. Example: 16.
	GrammarTokensPerStep int
	// CacheDisabled keeps nothing for later requests.
	CacheDisabled bool

	// PriorityPreemption lets a waiting request preempt running ones of a lower
	// priority. When memory runs out the lowest priority is retracted first.
	PriorityPreemption bool
	// PreemptionThreshold is what the difference of priorities must exceed. 0 means
	// that any difference counts. Example: 10.
	PreemptionThreshold int
	// Aging is after what time of waiting a preempted request goes first, whatever its
	// priority; it is then not preempted for as long. 0 means never. Example: 1m.
	// queue.Options.Aging is for requests in the queue.
	Aging time.Duration
	// LowPriorityFirst makes lower values the higher priority.
	LowPriorityFirst bool

	// InitNewTokenRatio is the share of a request's maximum output that admission
	// expects at first, in (0, 1]. 0 means 0.7. Soft.
	InitNewTokenRatio float64
	// Conservativeness multiplies the initial ratio: above 1 admits less. 0 means 1.
	Conservativeness float64

	// ReportToQueue sends the results of steps to the queue as well, for policies
	// that use them (queue.Options.WantsResults).
	ReportToQueue bool
	// ReportAdmissions reports admitted requests before the step that computes them, and not
	// with its results, for gateways: if the process dies of the step, they know the suspects.
	ReportAdmissions bool
	// PageBytes is the memory of a page on the device, for snapshots; 0: not known.
	// Example: 458752.
	PageBytes int64
	// RetractEvery is after how many steps a request is retracted, as a test; 0: never.
	RetractEvery int
	// AuditEveryStep counts every page after each step; always on with invariants.
	AuditEveryStep bool
}

// DefaultMaxPrefillTokens is the default of MaxPrefillTokens. Devices allocate their
// activation buffers for the largest step.
const DefaultMaxPrefillTokens = 16384

// maxStepsInFlight is 2: with one step that runs and one that waits the device never
// waits for a plan. More steps would only compute more rows that have ended.
const maxStepsInFlight = 2

func (o *Options) Validate() error {
	for _, f := range []struct {
		name  string
		value any
		ok    bool // false for NaN
		must  string
	}{
		{"Pages", o.Pages, o.Pages >= 1, "at least 1"},
		{"MaxRunning", o.MaxRunning, o.MaxRunning >= 1, "at least 1"},
		{"ContextLength", o.ContextLength, o.ContextLength >= 2, "at least 2"},
		{"MaxPrefillTokens", o.MaxPrefillTokens, o.MaxPrefillTokens >= 0, "at least 0"},
		{"RetractEvery", o.RetractEvery, o.RetractEvery >= 0, "at least 0"},
		{"GrammarTokensPerStep", o.GrammarTokensPerStep, o.GrammarTokensPerStep >= 0, "at least 0"},
		{"TokensPerStep", o.TokensPerStep, o.TokensPerStep >= 0, "at least 0"},
		{"PreemptionThreshold", o.PreemptionThreshold, o.PreemptionThreshold >= 0, "at least 0"},
		{"StepsInFlight", o.StepsInFlight, o.StepsInFlight >= 0 && o.StepsInFlight <= maxStepsInFlight, "between 0 and 2"},
		{"InitNewTokenRatio", o.InitNewTokenRatio, o.InitNewTokenRatio >= 0 && o.InitNewTokenRatio <= 1, "between 0 and 1"},
		{"Aging", o.Aging, o.Aging >= 0, "at least 0"},
		{"InterTokenLatencyTarget", o.InterTokenLatencyTarget, o.InterTokenLatencyTarget >= 0, "at least 0"},
		{"Conservativeness", o.Conservativeness, o.Conservativeness >= 0, "at least 0"},
	} {
		if !f.ok {
			return fmt.Errorf("batch former: %s is %v; it must be %s", f.name, f.value, f.must)
		}
	}
	if err := paging.CheckSize(o.PageSize); err != nil {
		return fmt.Errorf("batch former: PageSize %w", err)
	}
	if o.InterTokenLatencyTarget > 0 && o.ChunkedPrefillSize <= 0 {
		return fmt.Errorf("batch former: InterTokenLatencyTarget is %v, but ChunkedPrefillSize is %d; remove the target or enable chunked prefill", o.InterTokenLatencyTarget, o.ChunkedPrefillSize)
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.MaxPrefillTokens = cmp.Or(o.MaxPrefillTokens, DefaultMaxPrefillTokens)
	o.InitNewTokenRatio = cmp.Or(o.InitNewTokenRatio, 0.7)
	o.Conservativeness = cmp.Or(o.Conservativeness, 1)
	o.StepsInFlight = cmp.Or(o.StepsInFlight, 1)
	o.TokensPerStep = cmp.Or(o.TokensPerStep, 1)
	o.GrammarTokensPerStep = cmp.Or(o.GrammarTokensPerStep, 1)
	o.AuditEveryStep = o.AuditEveryStep || invariants.Enabled
	return o
}
