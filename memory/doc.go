// Package memory keeps the books of the KV cache: which page of the pool
// belongs to whom. It holds no KV itself, only page numbers.
//
//	Tree       radix tree of cached prefixes, in whole pages
//	Policy     what the tree evicts first; PolicyByName has the list
//	Allocator  free pages
//	Rows       rows of the request-to-token table, the first level
//	Lease      what one admitted request holds of both levels
//	CacheCore  the radix cache's actor core, around a Tree
//	AllocCore  the allocator's actor core, around an Allocator
//	PlanPool   how many pages the pool gets
//
// A page is in exactly one place: free in the Allocator, on a node of the Tree
// (evictable or protected), or private to a Lease. Every type here is plain
// data for one owner: no goroutine, clock, lock, randomness or IO, and equal
// calls give equal results, page numbers included.
package memory
