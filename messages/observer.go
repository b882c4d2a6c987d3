package messages

type ToObserver interface{ toObserver() }

// CacheEventKind says what happened to cached pages, as streams of events name it.
type CacheEventKind string

const (
	PagesStored  CacheEventKind = "stored"
	PagesRemoved CacheEventKind = "removed" // evicted
	PagesCleared CacheEventKind = "cleared" // the cache is empty now; no hashes are listed
)

// CacheEvent is one change of the prefix cache. The hash of a page covers its tokens,
// its namespace and all pages before it, so equal hashes mean equal prefixes.
type CacheEvent struct {
	Kind CacheEventKind
	// Hashes: stored pages in token order, chained; removed ones in any order. Frozen.
	Hashes []uint64
	// For stored pages: the hash that the first one is chained to, unless it is the first
	// of its namespace; the tokens, PageSize for each page, frozen; and the namespace.
	Parent    uint64
	HasParent bool
	Tokens    []int32
	PageSize  int
	Namespace string
}

// CacheChanged reports what one message changed in the cache. After a gap in Seq,
// messages were lost and the observer starts over.
type CacheChanged struct {
	Header
	// Seq counts from 1, in each epoch. 0: nothing has changed, but these pages were stored
	// before the gateway joined. They are for its router only, and not chained.
	Seq    uint64
	Events []CacheEvent
}

func (*CacheChanged) toObserver() {}

// ObservedEvent is one event of the observer's stream. Frozen.
type ObservedEvent struct {
	Header        // the engine and epoch of the cache
	Seq    uint64 // from 1, without gaps, within a process
	Kind   CacheEventKind
	Hashes []uint64 // as in CacheEvent
	// Parent is what the first stored page is chained to, unless it begins its namespace.
	Parent    uint64
	HasParent bool
}

// Subscription names one reader of the observer's stream. The HTTP server assigns it.
type Subscription uint64

// SubscribeEvents asks for the kept events after a number, and all new ones.
type SubscribeEvents struct {
	ID Subscription
	// After is the last event that the reader has; with FromNow only new events are sent.
	After   uint64
	FromNow bool
	// Events gets the new ones, capacity >= 1. The observer never blocks on it: it
	// closes the channel if the reader does not keep up, and when it stops.
	Events chan<- ObservedEvent
	Reply  chan<- *EventsSubscribed // capacity >= 1
}

type EventsSubscribed struct {
	Refused string // why the subscription was refused; "" if it was not
	Stream  uint64 // identifies the process: sequence numbers of another one are not valid
	// Missed: some events after After are not available.
	Missed bool
	Last   uint64          // the newest event
	Replay []ObservedEvent // frozen; those after After that are kept
}

// DropSubscription ends a subscription.
type DropSubscription struct{ ID Subscription }

func (*SubscribeEvents) toObserver()  {}
func (*DropSubscription) toObserver() {}
func (*EpochStarted) toObserver()     {}
