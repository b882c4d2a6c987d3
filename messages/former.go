package messages

// ToFormer is the set of messages that the batch former accepts.
type ToFormer interface{ toFormer() }

// CandidatesWaiting wakes the batch former: the queue is no longer empty, or a
// request goes before all that were offered, for which there may be headroom
// although there was none for those.
//
// It does not carry the offer itself: the queue orders requests when it is asked,
// for the rows that are free then, and a list sent ahead would be old. It costs one
// hop (0.2 µs) for an arrival in an empty queue, and nothing from step to step.
type CandidatesWaiting struct{ Header }

// CandidatesOffered answers OfferCandidates: the head of the queue in policy
// order. The requests stay in the queue until they are claimed.
type CandidatesOffered struct {
	Header
	Plan     PlanID
	Requests []*EngineRequest // frozen
	Waiting  int              // in the queue altogether
}

// MatchEnd says why the match of a prefix ends, for the request log.
type MatchEnd uint8

// The reasons.
const (
	MatchUnexplained   MatchEnd = iota // nobody asked: the request log is off
	MatchLimited                       // all that may match does: the last token is computed, and prompt logprobs are
	MatchNothingCached                 // the namespace has no page
	MatchCacheEnds                     // the prompt goes on where what is cached of it ends
	MatchDiverges                      // the prompt differs from what is cached
	MatchTooShort                      // less than a page may match at all
)

var matchEndNames = [...]string{"unexplained", "all that may match is cached", "nothing is cached in the namespace",
	"what is cached ends here", "the prompt diverges from what is cached", "less than one page may match"}

// String words the reason for the log.
func (e MatchEnd) String() string { return matchEndNames[e] }

// PrefixLocked is one match of PrefixesLocked.
type PrefixLocked struct {
	ID   RequestID
	Node NodeID // locked for the request; RootNode when nothing matched
	// Pages of the match in token order, whole pages only; frozen.
	Pages []Page
	// Why the match ends, and at which token: behind whole pages, the token
	// that differs, as far as the cache knows it. Only for the request log.
	End   MatchEnd
	EndAt int
}

// PrefixesLocked answers LockPrefixes, in its order. The counters are those
// after locking, in pages.
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
	// Node now holds the request's prefix, locked for it, when the insertion
	// asked to keep it; RootNode otherwise.
	Node NodeID
	// Pages that the request's row must use from page index First on, since
	// the tree had them already and the request's own copies were freed, or
	// with KeepCopies are the request's to free. Empty when nothing was
	// replaced; moved.
	First int
	Pages []Page
}

// PagesGranted is the outcome of one reservation.
type PagesGranted struct {
	ID    RequestID
	Pages []Page // the lease copies them
}

// PagesReserved closes the ring of a CommitPlan: everything in it was done.
type PagesReserved struct {
	Header
	Plan     PlanID
	Inserted []PrefixInserted // moved, in the order of the plan
	Granted  []PagesGranted   // moved, in the order of the plan
	Cached   CachePages
	Free     int // pages left in the allocator
}

// PagesRefused closes the ring of a CommitPlan that asked for more than there
// is. The batch former plans from exact counters, so this is a broken
// invariant and ends the epoch.
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

// BatchDone says that a step has completed on the device. Steps complete in
// their order.
type BatchDone struct {
	Header
	Step StepID
	// Sampled has one token or more of each row that asked for some and did not
	// fail, at most RowWork.Sample: in work order, those of one row one after the
	// other in order of their positions. Moved.
	Sampled []SampledToken
	Failed  []RowFailed      // moved; in work order
	Prompts []PromptLogprobs // moved
}

// RowFailed says that a row got no token although its step is sound: none may be
// sampled. Its batch mates are not affected.
type RowFailed struct {
	Row    Row
	Reason string // without anything that a client sent
}

// BatchFailed says that a step could not be computed. Nothing of it counts, and
// a step behind it is not answered.
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

// PageCount is where the pages of the pool are. The sum of the parts equals
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

// AuditSlots goes around the ring of owners, batch, cache, alloc and back to
// batch. Each adds its part, and whatever was under way before it has arrived
// when it does. Intake sends the first one with a Ticket; the batch former
// sends its own with none.
type AuditSlots struct {
	Header
	Ticket Ticket
	Count  PageCount
}

func (*CandidatesWaiting) toFormer() {}
func (*CandidatesOffered) toFormer() {}
func (*FinishRequests) toFormer()    {}
func (*PrefixesLocked) toFormer()    {}
func (*PagesReserved) toFormer()     {}
func (*PagesRefused) toFormer()      {}
func (*BatchDone) toFormer()         {}
func (*BatchFailed) toFormer()       {}
func (*FlushCache) toFormer()        {}
func (*AuditSlots) toFormer()        {}
