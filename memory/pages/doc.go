// Package pages hands out the pages of the KV pool.
//
//	Allocator  the list of free pages
//	Core       the allocator's actor core, around an Allocator
//
// A page has exactly one owner: free in the Allocator, on a node of the radix
// tree, or private to the lease of a request. Equal calls return equal pages.
//
//	Receives: ReservePages, AuditSlots (cache): pages to free, then to reserve; counts
//	Sends:    PagesReserved, PagesRefused, AuditSlots (former): answers;
//	          FailEpoch (supervisor): it panics
//	State:    the free pages
//	On failure: stopped with its epoch; the next one starts with all pages free
//
// # Floors
//
//	ring set
//	allocator
//	contiguous
//	core
package pages
