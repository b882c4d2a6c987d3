// Package former is the core of the batch former, which other engines call the
// scheduler: it decides which requests run, what each step computes, and which
// requests are retracted when memory runs out. Only the batch former changes the
// cache and the allocator, by messages, and only it holds leases.
//
// # One step
//
//	results of the last step → retractions → candidates from the queue →
//	LockPrefixes → admission → CommitPlan → RunBatch → BatchDone
//
// A step leaves out the parts that it does not need: if it only decodes, needs no page
// and returns none, it consists of RunBatch and BatchDone.
//
// With two steps in flight the next plan begins right after RunBatch. A sequence
// then counts scheduled work instead of finished work, and retractions wait until
// no step is in flight.
//
// # Parts
//
// Each part owns its state and checks its invariants. The Core is a loop over them:
//
//	batch      the running batch, and retracted sequences
//	ledger     pages by owner, rows, pages that the next CommitPlan gives back
//	inflight   launched steps and the fence
//	admission  which waiting requests are admitted; admissionrules.go has the decision
//	pressure   which running requests are retracted, the new-token ratio
//	prefill    how a step's budget is divided among prompts
//	reports    results on their way to intake
//	admin      audits and flushes
//
// Admission and pressure plan from a snapshot and return decisions; the Core carries
// them out. Formulas that come from SGLang name their source.
//
// What is sent every step is pooled, so a step of decoding rows allocates nothing: a
// RunBatch is the runner's until the step's BatchDone, a CommitPlan the cache's and
// the allocator's until PagesReserved, a StepResults intake's until it sends it back.
// The answers of cache and allocator are valid until the next CommitPlan, those of a
// device until the step after the next is launched.
//
//	Receives: CandidatesWaiting, CandidatesOffered, FinishRequests (queue): a hint, an offer, what to release;
//	          PrefixesLocked (cache): matches, locked, for admission;
//	          PagesReserved, PagesRefused (allocator): the answer to a plan;
//	          AuditSlots (allocator): the end of an audit;
//	          BatchDone, BatchFailed (runner): the end of a step;
//	          FlushCache, AuditSlots (intake): questions; StepResults (intake): back for reuse
//	Sends:    OfferCandidates, ClaimCandidates (queue): asks for the head of the queue, what was admitted;
//	          LockPrefixes, CommitPlan, AuditSlots (cache): the two rounds of a plan, an audit;
//	          RunBatch (runner): a step;
//	          StepResults (intake, queue): tokens, and a RequestEnded for every released request;
//	          CacheFlushed, FlushRefused, SlotsAudited (intake): answers;
//	          FailEpoch (supervisor): a step failed, an audit does not balance, or it panics
//	State:    leases, progress of running and retracted requests, the plan, steps in flight
//	On failure: stopped with its epoch; intake submits again, with the output that it has accepted
//
// # Floors
//
//	options phase lease rows history
//	sequence ratio
//	priority step reports
//	batch plan victim
//	ledger snapshot
//	inflight pressure prefill prefixproducers admin
//	admission
//	admissionrules
//	core
//	release
//	results
//	commit
//	admit
//	loop
package former
