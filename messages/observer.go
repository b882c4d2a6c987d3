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
	Epoch  Epoch
	Seq    uint64 // from 1, in each epoch
	Events []CacheEvent
}

func (*CacheChanged) toObserver() {}
