package radix

// Usage is what an eviction policy knows about a node. All pages of a node share it.
// Times are ticks of the tree, one per insertion or unlock, never a clock.
type Usage struct {
	LastUse uint64 // the latest insertion or unlock that went through the node
	Created uint64 // the insertion that brought the pages
	// Hits is how many requests used the pages, the one that brought them
	// included: each admission counts once, however many chunks it inserts.
	// With History it includes what was counted before an eviction.
	Hits     uint32
	Priority int32  // the greatest of the requests that inserted through the node
	Depth    int32  // pages from the root to the node's first page
	Note     uint32 // for a Learner to write; 0 at first
}

// Rank orders the unlocked leaves by Major, then by Minor; the least is evicted
// first. Two leaves must not have equal ranks, so that eviction is deterministic.
// Ticks ensure that: one tick touches one path, and a path has one leaf.
type Rank struct {
	Major uint32
	Minor uint64
}

// Policy decides which unlocked leaf is evicted first: the one of the least rank. The
// rank must depend on the Usage only, because the tree keeps it while the leaf is
// unlocked. A policy whose ranks change, or that learns from the traffic, implements
// Learner as well. Package policies has the names.
//
// Pages stay together in a node only while the policy treats them alike: where rank,
// class or note differ, new pages become new nodes. So decisions are exact to the page.
type Policy interface {
	Rank(u *Usage) Rank
}

// The policies of SGLang, with its keys. Each evicts first what its comment says.
type (
	LRU      struct{} // what was used least recently
	LFU      struct{} // what the fewest requests used, of equals the least recent
	SLRU     struct{} // what one request used, then what more used, each the least recent first
	FIFO     struct{} // what came first
	MRU      struct{} // what was used most recently
	FILO     struct{} // what came last
	Priority struct{} // the lowest priority, of equals the least recent
)

// Each of these ranks is its policy's key.

func (LRU) Rank(u *Usage) Rank      { return Rank{Minor: u.LastUse} }
func (LFU) Rank(u *Usage) Rank      { return Rank{u.Hits, u.LastUse} }
func (SLRU) Rank(u *Usage) Rank     { return Rank{min(u.Hits/2, 1), u.LastUse} }
func (FIFO) Rank(u *Usage) Rank     { return Rank{Minor: u.Created} }
func (MRU) Rank(u *Usage) Rank      { return Rank{Minor: ^u.LastUse} }
func (FILO) Rank(u *Usage) Rank     { return Rank{Minor: ^u.Created} }
func (Priority) Rank(u *Usage) Rank { return Rank{uint32(u.Priority) ^ 1<<31, u.LastUse} }
