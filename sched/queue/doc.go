// Package queue is the core of the waiting queue: it decides in which order
// waiting requests are offered to the batch former.
//
//	Core → waitOrder: aged and pinned requests first, then the policy's order
//	     → policy: ranked (fcfs, lof, random, priority), lpm, dfsWeight, fair
//	     → hints: what lpm and dfsWeight ask the cache, one message at a time
//
// All orders are binary heaps. docs/queue.md has the rules.
//
// # Floors
//
//	options heap hash
//	waiter
//	ranked hints
//	lpm_groups fair
//	lpm dfs
//	order
//	core
//	offer
//	check
//	step
package queue
