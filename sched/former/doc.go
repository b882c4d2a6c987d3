// Package former is the core of the batch former, which other engines call the
// scheduler: it decides which requests run, what each step computes, and which
// requests are retracted when memory runs out. Cache and allocator
// change only by plans of the batch former, and only it holds leases.
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
// Each part owns its state and checks its invariants. The Core is a loop over them.
//
//	loop, core, phase, options     messages and plans, one after the other; the Core; what it waits for; settings
//	candidates, admit, verdict     which waiting requests a plan looks at; LockPrefixes; which ones are admitted
//	prefixproducers, priority      prompts whose prefix candidates wait for; ranks
//	commit, plan, launch           CommitPlan: pages reserved and returned, prefixes inserted; RunBatch
//	prefill, step, inflight        how a step's budget is divided among prompts; launched steps and the fence
//	results, reports               BatchDone: tokens and ends; results on their way to intake
//	batch, sequence                the running batch and retracted sequences; one request, its tokens and progress
//	lease, rows, ledger            a request's pages; rows; pages by owner, those that go back with the next plan
//	pressure, victim, ratio        which running requests are retracted or preempted; the new-token ratio
//	release, snapshot              ends, aborts and retractions carried out; what the planners see
//	admin, history                 audits and flushes; the last plans, for the error of an audit
//	describe                       its part of a snapshot
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
//	          BatchDone, BatchFailed (runner): the end of a step; MaskReady (runner): a late row goes on;
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
//	ledger snapshot describe
//	inflight pressure prefill prefixproducers
//	candidates
//	verdict
//	core admin
//	release launch
//	results
//	commit
//	admit
//	loop
package former
