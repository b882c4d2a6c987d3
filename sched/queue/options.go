package queue

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/internal/paging"
)

// Policies are the names of the scheduling policies.
//
//	fcfs        first come, first served
//	lpm         longest cached prefix first; if several requests share a prefix
//	            that is not cached, one of them computes it and the others wait
//	dfs-weight  depth first through the tree of cached prefixes, the branch with
//	            the most waiting requests first
//	lof         longest output first
//	random      a pseudo-random order derived from Seed
//	priority    higher EngineRequest.Priority first
//	fair        the tenant that was served least first (virtual token counters)
func Policies() []string {
	return []string{"fcfs", "lpm", "dfs-weight", "lof", "random", "priority", "fair"}
}

// Options configure a Core. They only affect the order: they refuse no request.
type Options struct {
	// SchedulePolicy is one of Policies; "" means fcfs.
	SchedulePolicy string
	// Aging is the time after which a waiting request goes before all younger ones,
	// whatever the policy; 0 means never. Under fair, a tenant goes first if none of its
	// waiting requests was taken for that time. Example: 1m.
	Aging            time.Duration
	LowPriorityFirst bool   // reverses the order of the policy priority
	CacheDisabled    bool   // no prefixes are cached: lpm and dfs-weight fall back to fcfs
	PageSize         int    // tokens in a page, for lpm; 0 means 1
	Seed             uint64 // of the policy random
	// FairInputWeight and FairOutputWeight are what fair charges a tenant for an input
	// token and an output token; 0 means DefaultInputWeight and DefaultOutputWeight.
	FairInputWeight, FairOutputWeight float64
	// FairTenants is how many tenants without a request fair remembers; 0 means
	// 4096. The tenants served least are forgotten first.
	FairTenants int
}

// The default weights are those of the paper, which follow the prices of commercial APIs.
const (
	DefaultInputWeight  = 1
	DefaultOutputWeight = 2
)

func (o *Options) Validate() error {
	if names := Policies(); o.SchedulePolicy != "" && !slices.Contains(names, o.SchedulePolicy) {
		return fmt.Errorf("schedule-policy %q is not known; use one of %s", o.SchedulePolicy, strings.Join(names, ", "))
	}
	switch {
	case o.Aging < 0:
		return fmt.Errorf("queue: Aging is %v; it must be at least 0", o.Aging)
	case o.PageSize != 0 && paging.CheckSize(o.PageSize) != nil:
		return fmt.Errorf("queue: PageSize %w", paging.CheckSize(o.PageSize))
	case !(o.FairInputWeight >= 0 && o.FairInputWeight < math.MaxInt32):
		return fmt.Errorf("queue: FairInputWeight is %v; it must be at least 0", o.FairInputWeight)
	case !(o.FairOutputWeight >= 0 && o.FairOutputWeight < math.MaxInt32):
		return fmt.Errorf("queue: FairOutputWeight is %v; it must be at least 0", o.FairOutputWeight)
	case o.FairTenants < 0:
		return fmt.Errorf("queue: FairTenants is %d; it must be at least 0", o.FairTenants)
	}
	return nil
}

// Effective is the policy in use: without a cache, lpm and dfs-weight are fcfs (SGLang).
func (o *Options) Effective() string {
	switch o.SchedulePolicy {
	case "":
		return "fcfs"
	case "lpm", "dfs-weight":
		if o.CacheDisabled {
			return "fcfs"
		}
	}
	return o.SchedulePolicy
}

// WantsResults is for former.Options.ReportToQueue: the policy needs StepResults.
func (o *Options) WantsResults() bool {
	p := o.Effective()
	return p == "lpm" || p == "fair"
}
