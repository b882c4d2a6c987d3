// Package queue is the core of the waiting queue: it decides the order in which
// requests are offered to the batch former.
//
//	Core → waitOrder: aged and pinned requests first, then the policy's order
//	     → policy: ranked (fcfs, lof, random, priority), lpm, dfsWeight, fair
//	     → hints: questions of lpm and dfsWeight to the cache, one message at a time
//
// All orders are binary heaps. docs/queue.md has the rules.
//
// # Floors
//
//	options heap
//	waiter
//	ranked hints
//	lpm_groups fair
//	lpm dfs
//	order
//	core
//	offer
//	check
//	handle
package queue
