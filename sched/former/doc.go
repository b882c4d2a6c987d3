// Package former is the batch former's actor core. Other engines call it the
// scheduler. It decides which requests run, what each step computes, and which
// requests are retracted when memory runs out. It alone changes the cache and the
// allocator, by messages, and it alone holds leases.
//
// # One step
//
//	results of the last step → retractions → candidates from the queue →
//	LockPrefixes → admission → CommitPlan → RunBatch → BatchDone
//
// A step leaves out what it does not need: if it only decodes, needs no page and
// returns none, it is a RunBatch and a BatchDone.
//
// With two steps in flight the next plan begins right after RunBatch. A sequence
// then counts what is scheduled, not what is done, and retractions wait until no
// step is in flight.
//
// # Parts
//
// Each part owns its state and checks its invariants. The Core is a loop over them:
//
//	batch      the running batch, and retracted sequences
//	ledger     pages by owner, rows, what the next CommitPlan gives back
//	inFlight   launched steps and the fence
//	admission  which waiting requests are admitted; rules.go has the decision
//	pressure   which running requests are retracted, the new-token ratio
//	prefill    how a step's budget is divided among prompts
//	reports    results on their way to intake
//	admin      audits and flushes
//
// Admission and pressure plan from a snapshot and return decisions; the Core does
// what they say.
//
// Formulas that come from SGLang name their source: items are those of its scheduler
// tests and of schedule_policy.py and schedule_batch.py.
//
// # Floors
//
//	options phase lease rows history
//	sequence ratio
//	priority step reports
//	batch plan victim
//	ledger snapshot
//	inflight pressure prefill producers admin
//	admission
//	rules
//	core
//	ends
//	results
//	commit
//	admit
//	loop
package former
