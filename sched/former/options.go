package former

import (
	"cmp"
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
)

// Options are the dimensions and habits of a Core. Hard limits unless
// marked soft.
type Options struct {
	// PageSize is the number of tokens in a page: a power of two; example 16.
	PageSize int
	// Pages is the number of usable pages of the pool; example 4096.
	Pages int
	// MaxRunning is the number of rows: requests that may run at once; example
	// 64.
	MaxRunning int
	// MaxPrefillTokens is how many tokens one step computes at most, decoding
	// rows included; 0 means
	// DefaultMaxPrefillTokens. Soft: without chunks a longer prompt is
	// computed whole, and prefill always gets a page per step.
	MaxPrefillTokens int
	// ChunkedPrefillSize is how many tokens of long prompts one step computes
	// at most, decoding rows included; 0 or less means no chunks. Soft as
	// above; example 512.
	ChunkedPrefillSize int
	// InterTokenLatencyTarget is how long a step with decoding rows shall take
	// at most; chunks of prompts are made so small that 99 of 100 do. 0 means
	// no target; needs chunks. Soft: a page or 16 tokens of prompts, whichever
	// is more, are computed in any case. Example: 50 ms.
	InterTokenLatencyTarget time.Duration
	// ContextLength is the most tokens of a request, prompt and output; a
	// request that reaches it ends. Example 1024.
	ContextLength int
	// StepsInFlight is how many steps may be launched and not done: 1, or 2 so
	// that a step is planned while the one before it runs. 0 means 1.
	StepsInFlight int
	// TokensPerStep is how many tokens the device may sample for a row in one
	// step, if it speculates; 0 means 1. A row of which more than one may come is
	// not computed beside its own running step.
	TokensPerStep int
	// CacheDisabled says that nothing is kept for later requests.
	CacheDisabled bool

	// PriorityPreemption lets a waiting request of a higher priority take the
	// place of running ones of a lower priority, and lets those of the lowest
	// priority give way first when memory runs out.
	PriorityPreemption bool
	// PreemptionThreshold is by how much the priorities must differ: more than
	// this; 0 means any difference. Example: 10.
	PreemptionThreshold int
	// Aging is how long somebody who was preempted waits at most before it goes
	// first whatever its priority, and how long whoever has waited for so long is
	// not preempted; 0 means never. As queue.Options.Aging for those in the queue.
	// Example: 1m.
	Aging time.Duration
	// LowPriorityFirst turns the order of priorities around.
	LowPriorityFirst bool

	// InitNewTokenRatio is the share of a request's greatest possible output
	// that admission expects, in (0, 1]; 0 means 0.7. Soft.
	InitNewTokenRatio float64
	// MinNewTokenRatioFactor times the initial ratio is what the ratio decays
	// to while nothing is retracted, in (0, 1]; 0 means 0.14.
	MinNewTokenRatioFactor float64
	// NewTokenRatioDecaySteps is how many steps the decay takes; 0 means 600.
	NewTokenRatioDecaySteps int
	// Conservativeness multiplies the initial ratio: above 1 admits less and
	// retracts less; 0 means 1.
	Conservativeness float64

	// ReportToQueue sends the results of steps to the queue as well, whose
	// policy asks for them: queue.Options.WantsResults.
	ReportToQueue bool
	// RetractEvery retracts a request every so many steps, to exercise
	// retraction; 0 means only when memory runs out.
	RetractEvery int
	// AuditEveryStep counts every page after each step; always on in builds
	// with invariants.
	AuditEveryStep bool
}

// DefaultMaxPrefillTokens is what zero means; devices allocate their activation
// buffers for the largest step.
const DefaultMaxPrefillTokens = 16384

// Defaults of the other fields whose zero means something else.
const (
	defaultInitRatio       = 0.7
	defaultMinRatioFactor  = 0.14
	defaultRatioDecaySteps = 600
)

// maxStepsInFlight: with one step that runs and one that waits for it the device
// never waits for a plan. More would only compute more rows that have ended.
const maxStepsInFlight = 2

// Validate reports the first option that is out of range.
func (o *Options) Validate() error {
	for _, f := range []struct {
		name       string
		value, min int
	}{
		{"Pages", o.Pages, 1}, {"MaxRunning", o.MaxRunning, 1}, {"ContextLength", o.ContextLength, 2},
		{"MaxPrefillTokens", o.MaxPrefillTokens, 0}, {"NewTokenRatioDecaySteps", o.NewTokenRatioDecaySteps, 0},
		{"RetractEvery", o.RetractEvery, 0}, {"TokensPerStep", o.TokensPerStep, 0}, {"PreemptionThreshold", o.PreemptionThreshold, 0},
	} {
		if f.value < f.min {
			return fmt.Errorf("batch former: %s is %d, want at least %d", f.name, f.value, f.min)
		}
	}
	switch {
	case o.StepsInFlight < 0 || o.StepsInFlight > maxStepsInFlight:
		return fmt.Errorf("batch former: StepsInFlight is %d, want 1 or %d", o.StepsInFlight, maxStepsInFlight)
	case paging.CheckSize(o.PageSize) != nil:
		return fmt.Errorf("batch former: PageSize %w", paging.CheckSize(o.PageSize))
	case !(o.InitNewTokenRatio >= 0 && o.InitNewTokenRatio <= 1):
		return fmt.Errorf("batch former: InitNewTokenRatio is %v, want 0 to 1", o.InitNewTokenRatio)
	case !(o.MinNewTokenRatioFactor >= 0 && o.MinNewTokenRatioFactor <= 1):
		return fmt.Errorf("batch former: MinNewTokenRatioFactor is %v, want 0 to 1", o.MinNewTokenRatioFactor)
	case o.Aging < 0:
		return fmt.Errorf("batch former: Aging is %v, want at least 0", o.Aging)
	case o.InterTokenLatencyTarget < 0:
		return fmt.Errorf("batch former: InterTokenLatencyTarget is %v, want at least 0", o.InterTokenLatencyTarget)
	case o.InterTokenLatencyTarget > 0 && o.ChunkedPrefillSize <= 0:
		return fmt.Errorf("batch former: InterTokenLatencyTarget is %v, but ChunkedPrefillSize is %d: only chunks can keep it", o.InterTokenLatencyTarget, o.ChunkedPrefillSize)
	case !(o.Conservativeness >= 0):
		return fmt.Errorf("batch former: Conservativeness is %v, want at least 0", o.Conservativeness)
	}
	return nil
}

// withDefaults fills in what zero stands for.
func (o Options) withDefaults() Options {
	o.MaxPrefillTokens = cmp.Or(o.MaxPrefillTokens, DefaultMaxPrefillTokens)
	o.InitNewTokenRatio = cmp.Or(o.InitNewTokenRatio, defaultInitRatio)
	o.MinNewTokenRatioFactor = cmp.Or(o.MinNewTokenRatioFactor, defaultMinRatioFactor)
	o.NewTokenRatioDecaySteps = cmp.Or(o.NewTokenRatioDecaySteps, defaultRatioDecaySteps)
	o.Conservativeness = cmp.Or(o.Conservativeness, 1)
	o.StepsInFlight = cmp.Or(o.StepsInFlight, 1)
	o.TokensPerStep = cmp.Or(o.TokensPerStep, 1)
	o.AuditEveryStep = o.AuditEveryStep || invariants.Enabled
	return o
}
