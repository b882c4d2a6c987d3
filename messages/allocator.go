package messages

type ToAllocator interface{ toAllocator() }

// ReservePages is the second half of a CommitPlan: pages to free (Frees before Evicted,
// each in its order), then pages to reserve, all or nothing. PagesReserved answers it,
// and repeats the results of the cache.
type ReservePages struct {
	Header
	Plan     PlanID
	Frees    []Page           // moved; from leases, then duplicates of insertions
	Evicted  []PageRun        // moved; evicted from the tree
	Reserves []PageReserve    // moved
	Inserted []PrefixInserted // moved; for PagesReserved
	Cached   CachePages       // for PagesReserved
}

func (*ReservePages) toAllocator() {}
func (*AuditSlots) toAllocator()   {}
