// Package cachereplay simulates only the prefix cache for a trace: hits and
// evictions by capacity and eviction policy. No time passes, nothing is generated,
// and requests lock nothing.
//
// The rules are those of the reference figures for Mooncake's traces. The hits of a
// request are the blocks of its longest cached prefix, counted before it is inserted.
// Then all of its blocks are inserted and used, and then blocks are evicted down to
// the capacity. The hit ratio is hit blocks over all blocks, a partial last block
// included if the trace names it. Of a request with more blocks than the capacity,
// the blocks remain that the policy evicts last. A capacity that is smaller than
// every request of a trace is refused.
//
// Policies of package policies run on the real radix.Tree and pages.Allocator,
// with a page of two tokens per block: the two halves of the block's id. Two
// references run on a plain table of blocks instead (Index), because a tree that
// evicts leaf by leaf cannot do the same: "belady", which knows the future and evicts
// the block whose next use is farthest away, and "fifo", which evicts the block
// inserted first even if later blocks of its prefix stay.
package cachereplay
