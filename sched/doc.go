// Package sched decides what an engine does next: which requests wait, which
// run, what each step computes, and who gives way when memory runs out.
//
//	QueueCore  the waiting queue's actor core, in the order of one of SchedulePolicies
//	Former     the batch former's actor core: the step loop
//	Router     which of several engines serves a request, by prefix and load
//
// All are plain data for one owner: no goroutine, clock, lock, randomness or
// IO. The Former is the only one who changes the cache and the allocator, by
// messages, and the only holder of leases.
//
// # The order of the queue
//
//	QueueCore → line: who goes first whatever the policy, by age
//	          → policy: ranked (fcfs, lof, random, priority), lpm, dfsWeight, fair
//	          → hints: what lpm and dfsWeight ask the cache, one message at a time
//
// All orders are heaps of type ordered. docs/queue.md has the rules.
//
// # One step of the Former
//
//	results of the last step → retractions → candidates from the queue →
//	LockPrefixes → admission → CommitPlan → RunBatch → BatchDone
//
// Whatever is not needed is left out: a step of running requests that needs no
// page and gives none back is a RunBatch and a BatchDone.
// With two steps in flight the next plan begins at RunBatch; what it knows of a
// sequence is then what is scheduled, and retractions wait until no step runs.
//
// Formulas that come from SGLang name their place: the items are those of its
// scheduler tests and of schedule_policy.py and schedule_batch.py.
package sched
