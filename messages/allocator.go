package messages

// ToAllocator is the set of messages that the KV allocator accepts.
type ToAllocator interface{ toAllocator() }

// ReservePages is the second half of a CommitPlan: pages to free, Frees before
// Evicted and each in its order, then pages to reserve, all or nothing. The
// allocator answers the batch former with PagesReserved, into which it copies
// the cache's half.
type ReservePages struct {
	Header
	Plan     PlanID
	Frees    []Page           // moved; the leases', then the insertions' duplicates
	Evicted  []PageRun        // moved; what eviction took out of the tree
	Reserves []PageReserve    // moved
	Inserted []PrefixInserted // moved; for PagesReserved
	Cached   CachePages       // for PagesReserved
}

func (*ReservePages) toAllocator() {}
func (*AuditSlots) toAllocator()   {}
