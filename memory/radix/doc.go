// Package radix is the prefix cache: it maps prefixes of tokens to pages of the KV
// pool. It contains no KV itself, only page numbers.
//
//	Tree     radix tree of cached prefixes, in whole pages
//	Policy   the order of eviction; package policies has all of them by name
//	Learner  a policy that learns from the traffic, such as package gittins
//	Core     the cache's actor core, around a Tree
//	View     a part of a tree, for people
//
// Everything here is plain data for one owner. Equal calls return equal results,
// page numbers included.
//
//	Receives: LockPrefixes, CommitPlan, AuditSlots (former): matches for admission, changes, counts;
//	          PeekPrefixes (queue): matches as hints; DescribeCache (intake): a view of the tree;
//	          ListPages (portal): what is cached, for a gateway that joins
//	Sends:    PrefixesLocked (former), PrefixesPeeked (queue), CacheDescribed (intake), PagesListed (portal): answers;
//	          ReservePages, AuditSlots (allocator): its part of a plan or an audit;
//	          CacheChanged (observer): what was stored and evicted, if Options.Events is set. With
//	          several engines it goes to dispatch, whose router needs it even without an observer;
//	          FailEpoch (supervisor): it panics
//	State:    the Tree: cached prefixes, their pages and locks
//	On failure: stopped with its epoch; the next one starts with an empty cache
//
// # Parts
//
//	core                                messages; one plan's unlocks, insertions and evictions, in order
//	tree, node, children                the Tree and its invariants; nodes, their memory and handles; a child by its first page
//	match, matchend, lock               longest cached prefix; why a match ends; handles that lock paths
//	insert, extend, evict               a request's prefix into the tree; new nodes and growing leaves; pages out of it
//	policy, learner, leaves, leafheap   order of eviction; unlocked leaves in that order
//	history, hashes                     usage of evicted pages; chained hashes of pages
//	events, list                        what was stored and removed; lists of what is cached
//	pagelist, check                     a node's pages in runs; invariants
//	treeview, print, claim              a View for people, and its text; pages by owner, for a snapshot
//
// # Floors
//
//	policy pagelist
//	learner history
//	node
//	leaves leafheap hashes events
//	tree children
//	match list claim
//	lock
//	evict extend
//	insert matchend treeview check
//	print
//	core
package radix
