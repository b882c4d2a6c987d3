package messages

// ToCache is the set of messages that the radix cache accepts.
type ToCache interface{ toCache() }

// PrefixLock asks for the longest cached prefix of one request.
type PrefixLock struct {
	ID        RequestID
	Namespace string
	// Tokens are the request's tokens; the match takes whole pages of
	// Tokens[:Limit]. Limit is at most len(Tokens)-1, since one token must be
	// computed to sample the next one. Frozen.
	Tokens []int32
	Limit  int
}

// LockPrefixes matches and locks prefixes, for admission. Answered by
// PrefixesLocked.
type LockPrefixes struct {
	Header
	Plan     PlanID
	Prefixes []PrefixLock // moved
}

// PrefixPeek asks how much of one request is cached.
type PrefixPeek struct {
	ID        RequestID
	Namespace string
	Tokens    []int32 // those that may come from the cache; frozen
}

// PeekPrefixes asks for hints on waiting requests. It changes and locks
// nothing. Answered by PrefixesPeeked.
type PeekPrefixes struct {
	Header
	Prefixes []PrefixPeek // moved; at least one
	// MaxTokens bounds the cost: no further prefix is looked up after so many
	// tokens have matched.
	MaxTokens int
	// PathNodes asks for the nodes of the matches as well, so many from the top
	// down; 0 asks for none.
	PathNodes int
}

// PrefixInsert gives the whole pages of a request's prefix to the tree.
type PrefixInsert struct {
	ID        RequestID
	Namespace string
	// Tokens, a whole number of pages, all of whose KV is computed. Frozen.
	Tokens []int32
	// Pages hold their KV, one for each page of tokens. The first Owned of
	// them belong to the tree already, through Node; the rest are the
	// request's own and change owner. Those whose tokens the tree has already
	// are freed instead. Frozen until PagesReserved.
	Pages []Page
	Owned int
	// Node is what the request has locked until now; it is unlocked.
	Node NodeID
	// Keep locks the new prefix for the request, which goes on.
	Keep bool
	// KeepCopies leaves the request's own pages whose tokens the tree has
	// already with the request instead of freeing them: a step that runs still
	// reads them. With Keep only.
	KeepCopies bool
	// Priority is the request's; the eviction policy "priority" goes by it.
	Priority int32
}

// CommitPlan is the one message of a plan that changes the cache and the
// allocator: insert, unlock and evict in the cache, then free and reserve in
// the allocator, which gets it as ReservePages. In this order, so that what
// the plan gives back is there for what it takes.
type CommitPlan struct {
	Header
	Plan    PlanID
	Inserts []PrefixInsert // moved
	Unlocks []NodeID       // moved; a node stands once per lock to give back
	// EvictPages is how many pages must come free beside Frees: as duplicates of
	// the insertions, the rest by eviction of unlocked nodes. EvictAll evicts
	// every one, for a flush.
	EvictPages int
	EvictAll   bool
	// Frees are pages that leases give back; moved. Each stands once, in all
	// of a plan.
	Frees    []Page
	Reserves []PageReserve // moved
}

// PageReserve asks for pages for one request.
type PageReserve struct {
	ID    RequestID
	Pages int // >= 1
}

// CacheLimits bound a picture of the cache; zero fields mean the cache's own
// defaults. The edge keeps them within reason.
type CacheLimits struct {
	Depth  int // levels below a root
	Nodes  int // in all
	Tokens int // of a node
}

// DescribeCache asks for a picture of the tree. It costs a pass over all nodes.
type DescribeCache struct {
	Header
	Ticket Ticket
	Limits CacheLimits
}

func (*DescribeCache) toCache() {}
func (*LockPrefixes) toCache()  {}
func (*PeekPrefixes) toCache()  {}
func (*CommitPlan) toCache()    {}
func (*AuditSlots) toCache()    {}
