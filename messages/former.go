package messages

type ToFormer interface{ toFormer() }

// CandidatesWaiting wakes the batch former: the queue is no longer empty, or a new
// request goes before all that were offered and may fit although they did not.
//
// It does not contain the offer: the queue orders requests for the rows that are free
// when the offer is requested, and a list sent ahead would be outdated. It costs one
// hop (0.2 µs) for an arrival in an empty queue, and nothing per step.
type CandidatesWaiting struct{ Header }

// CandidatesOffered answers OfferCandidates: the head of the queue in policy
// order. The requests stay in the queue until they are claimed.
type CandidatesOffered struct {
	Header
	Plan     PlanID
	Requests []*EngineRequest // frozen
	Waiting  int              // in the queue in total
}

// MatchEnd says why the match of a prefix ends, in the words of the request log.
type MatchEnd string

const (
	MatchUnexplained   MatchEnd = "" // not computed: the request log is off
	MatchLimited       MatchEnd = "the whole reusable part of the prompt is cached"
	MatchNothingCached MatchEnd = "nothing is cached in the request's namespace"
	MatchCacheEnds     MatchEnd = "the cached prefix ends here"
	MatchDiverges      MatchEnd = "the prompt differs from the cached one here"
	MatchTooShort      MatchEnd = "the reusable part of the prompt is shorter than one page"
)

// PrefixLocked is one match of PrefixesLocked.
type PrefixLocked struct {
	ID   RequestID
	Node NodeID // locked for the request; RootNode when nothing matched
	// Pages of the match in token order, whole pages only; frozen.
	Pages []Page
	// End is why the match ends, EndAt the first differing token, if known. For the log.
	End   MatchEnd
	EndAt int
}

// PrefixesLocked answers LockPrefixes, in its order. Cached counts after locking.
type PrefixesLocked struct {
	Header
	Plan    PlanID
	Matches []PrefixLocked // moved
	Cached  CachePages
}

// CachePages are the cache's exact counters, in pages.
type CachePages struct {
	Evictable int // on unlocked nodes
	Protected int // on locked nodes
}

// PrefixInserted is the outcome of one insertion of a CommitPlan.
type PrefixInserted struct {
	ID RequestID
	// Node, with Keep, holds the request's prefix and is locked for it; else RootNode.
	Node NodeID
	// Pages are those that the request's row must use from page index First on: the tree
	// had them already. The request's own copies were freed, or with KeepCopies the
	// request must free them. Empty if nothing was replaced; moved.
	First int
	Pages []Page
}

// PagesGranted is the outcome of one reservation.
type PagesGranted struct {
	ID    RequestID
	Pages []Page // the lease copies them
}

// PagesReserved completes a CommitPlan: all of it was done.
type PagesReserved struct {
	Header
	Plan     PlanID
	Inserted []PrefixInserted // moved, in the order of the plan
	Granted  []PagesGranted   // moved, in the order of the plan
	Cached   CachePages
	Free     int // pages left in the allocator
}

// PagesRefused answers a CommitPlan that needs more pages than are free. The batch
// former plans with exact counters, so this is a broken invariant and ends the epoch.
type PagesRefused struct {
	Header
	Plan   PlanID
	Wanted int
	Free   int
	Reason string
}

// SampledToken is one token that a device sampled for a row.
type SampledToken struct {
	Row      Row
	Token    int32
	Logprobs *PositionLogprobs // frozen; nil unless asked for
}

// PromptLogprobs are the log probabilities of prompt tokens computed in one
// step, for positions [First, First+len(Logprobs)).
type PromptLogprobs struct {
	Row      Row
	First    int
	Logprobs []PositionLogprobs // moved
}

// BatchDone says that a step has completed on the device. Steps complete in order.
type BatchDone struct {
	Header
	Step StepID
	// Sampled has 1 to RowWork.Sample tokens of each row that asked for some, did not
	// fail and is not late: in the order of Work, and by position within a row. Moved.
	Sampled []SampledToken
	Forced  int         // how many of Sampled were certain, so that none was drawn
	Failed  []RowFailed // moved; in work order
	// Late rows were to sample a token, but their grammar's mask was not made. The last of
	// the tokens that they computed is computed again, after MaskReady. Moved; in work order.
	Late    []Row
	Prompts []PromptLogprobs // moved
}

// MaskReady says that the mask is made which a late row needs.
type MaskReady struct {
	Header
	ID RequestID
}

// RowFailed says that no token could be sampled for a row, because none may be, or because its
// mask could not be made.
// The other rows of the step are not affected.
type RowFailed struct {
	Row    Row
	Reason string    // contains nothing sent by a client
	End    EndReason // EndFailed, EndGrammar or EndInternal
}

// BatchFailed says that a step could not be computed. The step after it is not answered.
type BatchFailed struct {
	Header
	Step   StepID
	Reason string
	// Sticky means that the device will not work again in this process.
	Sticky bool
}

// FlushCache asks for an empty prefix cache.
type FlushCache struct {
	Header
	Ticket Ticket
}

// PageCount counts the pages of the pool by owner. The sum of the parts equals
// Total: free + evictable + protected + leased + in transfer.
type PageCount struct {
	Free, Evictable, Protected, Leased, InTransfer int
	Total                                          int
}

// Balanced reports whether every page has exactly one owner.
func (c PageCount) Balanced() bool {
	return c.Free >= 0 && c.Evictable >= 0 && c.Protected >= 0 && c.Leased >= 0 && c.InTransfer >= 0 &&
		c.Free+c.Evictable+c.Protected+c.Leased+c.InTransfer == c.Total
}

// AuditSlots visits all owners of pages: batch former, cache, allocator and the batch
// former again; each adds its count. It follows the messages sent before it, so no
// pages are in transfer when it is counted. Intake sends it with a Ticket; the batch
// former sends its own without one.
//
// With a Snapshot, each owner also adds its pages to it, so that the audit checks them one
// by one.
type AuditSlots struct {
	Header
	Ticket   Ticket
	Count    PageCount
	Snapshot *Snapshot // moved; nil: the audit only counts
}

func (*CandidatesWaiting) toFormer() {}
func (*CandidatesOffered) toFormer() {}
func (*FinishRequests) toFormer()    {}
func (*PrefixesLocked) toFormer()    {}
func (*PagesReserved) toFormer()     {}
func (*PagesRefused) toFormer()      {}
func (*BatchDone) toFormer()         {}
func (*BatchFailed) toFormer()       {}
func (*MaskReady) toFormer()         {}
func (*FlushCache) toFormer()        {}
func (*AuditSlots) toFormer()        {}
