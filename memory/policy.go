package memory

// Usage is what an eviction policy knows about a node. Times are ticks of the
// tree: one per match or insertion, never a clock.
type Usage struct {
	LastUse uint64
}

// Policy decides which unlocked leaf is evicted first. A node's Usage changes
// by Touch only, and a split copies it to the new node.
type Policy interface {
	// Touch notes that a match or an insertion went through the node.
	Touch(u *Usage, tick uint64)
	// Before reports whether a goes before b. It must be a strict order, and a
	// total one on the leaves of a tree, so that eviction is deterministic.
	Before(a, b *Usage) bool
}

// LRU evicts the leaf that was used least recently. Two leaves never have the
// same LastUse: one tick touches one path, and a path has one leaf.
type LRU struct{}

// Touch notes the tick.
func (LRU) Touch(u *Usage, tick uint64) { u.LastUse = tick }

// Before compares the ticks.
func (LRU) Before(a, b *Usage) bool { return a.LastUse < b.LastUse }
