// Package former is the batch former's actor core. Other engines call it the
// scheduler. It decides which requests run, what each step computes, and which
// requests give way when memory runs out. It alone changes the cache and the
// allocator, by messages, and it alone holds leases.
//
// # One step
//
//	results of the last step → retractions → candidates from the queue →
//	LockPrefixes → admission → CommitPlan → RunBatch → BatchDone
//
// What a step does not need is left out: a step of running requests that needs no
// page and returns none is a RunBatch and a BatchDone.
// With two steps in flight the next plan begins at RunBatch; what it knows of a
// sequence is then what is scheduled, and retractions wait until no step runs.
//
// Formulas that come from SGLang name their place: the items are those of its
// scheduler tests and of schedule_policy.py and schedule_batch.py.
package former
