package messages

// ToObserver is the set of messages that an observer of the engine accepts. An
// engine may run without one.
type ToObserver interface{ toObserver() }

// CacheEventKind says what happened to cached pages.
type CacheEventKind uint8

// The kinds of cache events.
const (
	// PagesStored: pages came into the cache.
	PagesStored CacheEventKind = iota + 1
	// PagesRemoved: pages were evicted.
	PagesRemoved
	// PagesCleared: the cache is empty now; no hashes are listed.
	PagesCleared
)

var cacheEventNames = [...]string{"unknown", "stored", "removed", "cleared"}

// String gives the name used in streams of events.
func (k CacheEventKind) String() string {
	if int(k) < len(cacheEventNames) {
		return cacheEventNames[k]
	}
	return cacheEventNames[0]
}

// CacheEvent is one change of what is cached. A page is named by a hash over
// its tokens, its namespace and all pages before it; equal hashes are equal
// prefixes.
type CacheEvent struct {
	Kind CacheEventKind
	// Hashes are those of the pages: stored ones in the order of their tokens,
	// each chained to the one before; removed ones in any order. Frozen.
	Hashes []uint64
	// Of stored pages: the hash that the first of them is chained to, if it is
	// not the first of its namespace; the tokens, PageSize for each page,
	// frozen; and the namespace.
	Parent    uint64
	HasParent bool
	Tokens    []int32
	PageSize  int
	Namespace string
}

// CacheChanged tells what one message changed in the cache. A gap in Seq means
// that messages were lost and the observer knows nothing any more.
type CacheChanged struct {
	Header
	Seq    uint64 // from 1, in each epoch
	Events []CacheEvent
}

func (*CacheChanged) toObserver() {}

// ObservedEvent is one event of the observer's stream. Frozen.
type ObservedEvent struct {
	Seq    uint64 // from 1, without gaps, in the life of a process
	Epoch  Epoch
	Kind   CacheEventKind
	Hashes []uint64 // as in CacheEvent
	// Parent is what the first of stored pages is chained to, if it is not the
	// first of its namespace.
	Parent    uint64
	HasParent bool
}

// Subscription names one reader of the observer's stream. The edge hands it out.
type Subscription uint64

// SubscribeEvents asks for the stream of events: those after a sequence number,
// as far as they are kept, then every new one.
type SubscribeEvents struct {
	ID Subscription
	// After is the number of the last event that the reader knows; with FromNow
	// it is ignored, and only new events come.
	After   uint64
	FromNow bool
	// Events brings the new ones, capacity >= 1. The observer never blocks on
	// it: it closes the channel of a reader that does not keep up, and when it
	// stops.
	Events chan<- ObservedEvent
	Reply  chan<- *EventsSubscribed // capacity >= 1
}

// EventsSubscribed answers SubscribeEvents.
type EventsSubscribed struct {
	Refused string // why there is no subscription; "" if there is one
	Stream  uint64 // names the life of the process: numbers of another one mean nothing
	// Missed says that events after After are not kept any more, or never were.
	Missed bool
	Last   uint64          // the newest event
	Replay []ObservedEvent // frozen; those after After that are kept
}

// DropSubscription says that nobody reads a subscription any more.
type DropSubscription struct{ ID Subscription }

func (*SubscribeEvents) toObserver()  {}
func (*DropSubscription) toObserver() {}
func (*EpochStarted) toObserver()     {}
