package queue

import (
	"cmp"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// policy is an order of waiting requests.
type policy interface {
	// add takes a request that the policy does not hold.
	add(w *waiter)
	// remove drops a request that the policy holds. claimed: it runs from now
	// on. Otherwise it has ended, or goes first whatever the policy says.
	remove(w *waiter, claimed bool)
	// head appends the first n requests that may run, or fewer. The policy keeps them.
	head(dst []*waiter, n int, now time.Duration) []*waiter
	// front is the first request that may run, whatever its age; nil if there is none.
	front() *waiter
}

// observer is a policy that follows requests after they were claimed.
type observer interface {
	policy
	// results reports a step. The message is only read.
	results(m *messages.StepResults)
	// finish reports that a request is about to end, waiting or running.
	finish(id messages.RequestID)
}

// hinted is a policy that asks the cache for matched lengths. They are hints:
// the cache may have changed since. Only LockPrefixes gives a firm answer.
type hinted interface {
	policy
	// ask appends the requests to ask for: new ones, at most maxPeeks, and before an
	// offer of n those whose hints decide about the offer.
	ask(dst []*waiter, n int) []*waiter
	// learn takes the answer for a request; w is nil if the policy does not hold it.
	learn(w *waiter, found *messages.PrefixPeeked)
	// pathNodes is how many nodes of the matched path learn needs.
	pathNodes() int
}

func newPolicy(o Options) policy {
	if err := o.Validate(); err != nil {
		invariants.Fail("%v", err)
	}
	o.PageSize = cmp.Or(o.PageSize, 1)
	o.FairInputWeight = cmp.Or(o.FairInputWeight, DefaultInputWeight)
	o.FairOutputWeight = cmp.Or(o.FairOutputWeight, DefaultOutputWeight)
	o.FairTenants = cmp.Or(o.FairTenants, 4096)
	switch o.Effective() {
	case "lpm":
		return newLPM(o.PageSize)
	case "dfs-weight":
		return newDFSWeight()
	case "fair":
		return newFair(&o)
	}
	return &ranked{list: list{heap: newOrder(byRank)}, rank: rankOf(&o)}
}
