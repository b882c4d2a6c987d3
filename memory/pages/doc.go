// Package pages hands out the pages of the KV pool.
//
//	Allocator  the list of free pages
//	Core       the allocator's actor core, around an Allocator
//
// A page has exactly one owner: free in the Allocator, on a node of the radix
// tree, or private to the lease of a request. Equal calls return equal pages.
//
// # Floors
//
//	ring set
//	allocator
//	contiguous
//	core
package pages
