// Package queue is the core of the waiting queue: it decides the order in which
// requests are offered to the batch former.
//
// The Core holds a waitOrder: aged and pinned requests first, then the policy's order.
// All orders are binary heaps. docs/queue.md has the rules.
//
//	Receives: EnqueueRequests, FinishRequests (intake): new requests, and those to release;
//	          OfferCandidates, ClaimCandidates (former): asks for the head of the queue, what was admitted;
//	          StepResults (former): progress of running requests, if the policy asks for it;
//	          PrefixesPeeked (cache): cached prefixes, as hints
//	Sends:    CandidatesWaiting, CandidatesOffered (former): a request waits, the head of the queue;
//	          FinishRequests (former): passed on; PeekPrefixes (cache): asks for hints;
//	          FailEpoch (supervisor): it panics
//	State:    waiting requests in their order, with hints
//	On failure: stopped with its epoch; intake submits to the next one what is unfinished
//
// # Parts
//
//	handle, core             messages and the Core; requests that come and go
//	offer, hints             the head of the queue for the batch former; questions to the cache
//	order, policy, waiter    aged and pinned requests first; the policy's interfaces; a waiting request
//	ranked, fair, dfs        fcfs, lof, random and priority; shares of tenants; the tree of cached prefixes
//	lpm, lpm_groups          longest cached prefix first; requests that share an uncached prefix
//	heap, options, check     binary heaps, settings, invariants
//
// # Floors
//
//	options heap
//	waiter
//	ranked
//	fair dfs lpm lpm_groups
//	policy
//	order
//	core hints offer
//	check
//	handle
package queue
