// Package queue is the core of the waiting queue: it decides the order in which
// requests are offered to the batch former.
//
//	Core → waitOrder: aged and pinned requests first, then the policy's order
//	     → policy: ranked (fcfs, lof, random, priority), lpm, dfsWeight, fair
//	     → hints: questions of lpm and dfsWeight to the cache, one message at a time
//
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
