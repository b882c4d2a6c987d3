package messages

// ToAllocator is the set of messages that the KV allocator accepts.
type ToAllocator interface{ toAllocator() }

// ReservePages is the second half of a CommitPlan: pages to free, Frees before Evicted
// and each in its order, then pages to reserve, all or nothing. Answered by
// PagesReserved, for which it also has the results of the cache.
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
