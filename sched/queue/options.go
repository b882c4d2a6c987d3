package queue

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
)

// Policies are the names of the policies: the orders in which waiting
// requests are offered.
//
//	fcfs        first come, first served
//	lpm         longest cached prefix first; of several that share a prefix
//	            that is not cached, one first
//	dfs-weight  by the tree of cached prefixes, depth first, the part with the
//	            most waiting requests first
//	lof         longest output first
//	random      an order that follows from Seed
//	priority    higher EngineRequest.Priority first
//	fair        the tenant that was served least first (virtual token counters)
func Policies() []string {
	return []string{"fcfs", "lpm", "dfs-weight", "lof", "random", "priority", "fair"}
}

// Options configure a Core. All limits are soft: they order requests
// and refuse none.
type Options struct {
	// SchedulePolicy is one of Policies; "" means fcfs.
	SchedulePolicy string
	// Aging is how long a request waits until it outranks every younger one,
	// whatever the policy; 0 means never. Under fair, it is how long a tenant
	// that has requests waiting goes without one being taken. Example: 1m.
	Aging time.Duration
	// LowPriorityFirst turns the order of the policy priority around.
	LowPriorityFirst bool
	// CacheDisabled says that there are no cached prefixes: lpm and dfs-weight
	// are fcfs then.
	CacheDisabled bool
	// PageSize is the tokens of a page, in which prefixes are shared; 0 means
	// 1. Only lpm looks at it.
	PageSize int
	// Seed decides the order of the policy random.
	Seed uint64
	// FairInputWeight and FairOutputWeight are what a token of input and of
	// output cost a tenant under fair; 0 means DefaultInputWeight and
	// DefaultOutputWeight.
	FairInputWeight, FairOutputWeight float64
	// FairTenants is how many tenants without a request are remembered under
	// fair; 0 means 4096. Those served least are forgotten first.
	FairTenants int
}

// The default weights are those of the paper on virtual token counters, after
// the prices of commercial APIs.
const (
	DefaultInputWeight  = 1
	DefaultOutputWeight = 2
)

const defaultFairTenants = 4096

// Validate reports the first option that is out of range.
func (o *Options) Validate() error {
	if names := Policies(); o.SchedulePolicy != "" && !slices.Contains(names, o.SchedulePolicy) {
		return fmt.Errorf("schedule-policy %q is unknown, want one of %s", o.SchedulePolicy, strings.Join(names, ", "))
	}
	switch {
	case o.Aging < 0:
		return fmt.Errorf("queue: Aging is %v, want at least 0", o.Aging)
	case o.PageSize != 0 && paging.CheckSize(o.PageSize) != nil:
		return fmt.Errorf("queue: PageSize %w", paging.CheckSize(o.PageSize))
	case !(o.FairInputWeight >= 0 && o.FairInputWeight < math.MaxInt32):
		return fmt.Errorf("queue: FairInputWeight is %v, want at least 0", o.FairInputWeight)
	case !(o.FairOutputWeight >= 0 && o.FairOutputWeight < math.MaxInt32):
		return fmt.Errorf("queue: FairOutputWeight is %v, want at least 0", o.FairOutputWeight)
	case o.FairTenants < 0:
		return fmt.Errorf("queue: FairTenants is %d, want at least 0", o.FairTenants)
	}
	return nil
}

// Effective is the policy that the options lead to: SGLang, too, falls back to
// fcfs when there is no cache to look into.
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

// WantsResults reports whether the queue must get the batch former's
// StepResults: see former.Options.ReportToQueue.
func (o *Options) WantsResults() bool {
	p := o.Effective()
	return p == "lpm" || p == "fair"
}

// policy makes the order that the options ask for.
func (o Options) policy() policy {
	if err := o.Validate(); err != nil {
		invariants.Fail("%v", err)
	}
	o.PageSize = cmp.Or(o.PageSize, 1)
	o.FairInputWeight = cmp.Or(o.FairInputWeight, DefaultInputWeight)
	o.FairOutputWeight = cmp.Or(o.FairOutputWeight, DefaultOutputWeight)
	o.FairTenants = cmp.Or(o.FairTenants, defaultFairTenants)
	switch o.Effective() {
	case "lpm":
		return newLPM(o.PageSize)
	case "dfs-weight":
		return newDFSWeight()
	case "lof":
		return newLOF()
	case "random":
		return newRandom(o.Seed)
	case "priority":
		return newPriority(o.LowPriorityFirst)
	case "fair":
		return newFair(&o)
	}
	return newFCFS()
}
