package messages

type ToCache interface{ toCache() }

// PrefixLock asks for the longest cached prefix of one request: whole pages of
// Tokens[:Limit]. Limit is at most len(Tokens)-1, because one token must be computed to
// sample the next one.
type PrefixLock struct {
	ID        RequestID
	Namespace string
	Tokens    []int32 // of the request; frozen
	Limit     int
}

// LockPrefixes matches and locks prefixes, for admission. Answered by PrefixesLocked.
type LockPrefixes struct {
	Header
	Plan     PlanID
	Prefixes []PrefixLock // moved
}

// PrefixPeek asks for the cached prefix of one request.
type PrefixPeek struct {
	ID        RequestID
	Namespace string
	Tokens    []int32 // that may come from the cache; frozen
}

// PeekPrefixes asks for the cached prefixes of waiting requests, as hints: nothing is
// changed or locked. Answered by PrefixesPeeked.
type PeekPrefixes struct {
	Header
	Prefixes []PrefixPeek // moved; at least one
	// MaxTokens bounds the cost: no prefix is looked up after this many matched tokens.
	MaxTokens int
	// PathNodes is how many nodes of each match to report, from the root down.
	PathNodes int
}

// PrefixInsert inserts the whole pages of a request's prefix into the tree.
type PrefixInsert struct {
	ID        RequestID
	Namespace string
	// Tokens are a whole number of pages whose KV is computed. Frozen.
	Tokens []int32
	// Pages hold the KV of Tokens. The first Owned of them belong to the tree already,
	// on the path to Node. The tree takes over the others, which are private to the
	// request, or frees them if it has their tokens. Frozen until PagesReserved.
	Pages []Page
	Owned int
	// Node is the node that the request has locked; it is unlocked.
	Node NodeID
	// Keep locks the new prefix, because the request is still running.
	Keep bool
	// KeepCopies, only with Keep, leaves private pages whose tokens the tree has to the
	// request instead of freeing them, because a step in flight still reads them.
	KeepCopies bool
	// Priority is the request's, for the eviction policy "priority".
	Priority int32
}

// CommitPlan is the only message of a plan that changes the cache and the allocator, in
// this order, so that freed pages can be reserved: insert, unlock and evict in the
// cache; free and reserve in the allocator, which gets it as ReservePages.
type CommitPlan struct {
	Header
	Plan    PlanID
	Inserts []PrefixInsert // moved
	Unlocks []NodeID       // moved; a node is listed once per lock to release
	// EvictPages is how many pages must become free besides Frees: duplicates of
	// insertions first, then by evicting unlocked nodes. EvictAll, for a flush, evicts
	// all of these.
	EvictPages int
	EvictAll   bool
	// Frees are pages returned by leases; moved. A page is listed once in a plan.
	Frees    []Page
	Reserves []PageReserve // moved
}

// PageReserve asks for pages for one request.
type PageReserve struct {
	ID    RequestID
	Pages int // >= 1
}

// CacheLimits bound a description; zero: the cache's default. The HTTP server caps them.
type CacheLimits struct {
	Depth  int // levels below a root
	Nodes  int // in total
	Tokens int // per node
}

// DescribeCache asks for a description of the tree. It visits all nodes.
type DescribeCache struct {
	Header
	Ticket Ticket
	Limits CacheLimits
}

// ListPages asks for a part of what is cached, for a router that does not know it yet.
// The parts, one after the other, and the CacheChanged that come between them have every
// page that stays cached; a page may be in several. Only one list is made at a time: a
// part from the start gives up the list before.
type ListPages struct {
	Header
	Ticket Ticket
	After  uint64 // 0: from the start; else Next of the part before
	Max    int    // pages, at least 1; soft: the last node is listed completely
}

func (*ListPages) toCache()     {}
func (*ListPages) toDispatch()  {}
func (*DescribeCache) toCache() {}
func (*LockPrefixes) toCache()  {}
func (*PeekPrefixes) toCache()  {}
func (*CommitPlan) toCache()    {}
func (*AuditSlots) toCache()    {}
