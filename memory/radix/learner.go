package radix

// Learner is a Policy that learns from the traffic and weighs leaves at the time
// of the eviction. It sorts leaves into classes. The order within a class is that of
// Rank and fixed, but which class is evicted from may change with time. It may use 32
// bits per node in Usage.Note. A Learner serves one tree.
//
// Under a Learner the last page that a request brings becomes a node of its own,
// because the end of a prompt is less likely to be used again than the rest.
type Learner interface {
	Policy
	// Classes is the number of classes, a constant.
	Classes() int
	// Class sorts a leaf into [0, Classes()). It depends on the Usage only.
	Class(u *Usage) int
	// Choose picks the class to evict from at the tick now, and which end of it:
	// its least leaf, or its newest. least[c] is the leaf of the least rank in
	// class c and newest[c] the last that came with a rank above all others of
	// its class; nil where there is none. At least one of least is not nil.
	Choose(now uint64, least, newest []*Usage) (class int, takeNewest bool)
	// Added reports consecutive pages that come into the cache, the first of them at
	// u.Depth. u is final but for LastUse and Note: their values from before the pages'
	// last eviction, if the history remembers it, else 0. Added may change Note.
	Added(u *Usage, now uint64, pages int)
	// Used reports an insertion, after Added: the nodes from its end up to the root,
	// with their usage after it. Used may change their notes. first and last say whether
	// it is the first insertion of its request and the last.
	Used(now uint64, path []PathNode, first, last bool)
}

// PathNode is a node on the path of an insertion.
type PathNode struct {
	Usage *Usage
	Pages int
	// Hit: the insertion counts as a use of pages that were cached before.
	Hit bool
	// LastUse is that before the insertion; 0 for pages that it brought.
	LastUse uint64
}
