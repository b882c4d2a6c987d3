// Package dispatch is the core of the actor between one intake and several engines.
// To intake it acts as one engine (queue, batch former, cache and supervisor): it accepts
// requests and sends StepResults without gaps. To each engine it acts as intake and observer. It chooses the engine of a
// request by cached prefix and load (package route). When an engine's epoch ends, it
// returns that engine's requests to intake, which submits them again with the tokens
// that they have; they then go to an engine that is running.
//
// A quarantined request gets an engine to itself until it has a token: the requests of that
// engine move to others. A request that no engine can take is held, for Options.ResumeWait
// at most.
//
// It keeps no tokens and no prompts, but for held requests. Of others it knows only the engine.
//
//	Receives: EnqueueRequests, FinishRequests, FlushCache, AuditSlots, DescribeCache, StepResults (intake): as an engine;
//	          FailEpoch (intake): all engines start over;
//	          EpochStarted, EpochEnded (supervisor), StepResults (former): as intake;
//	          CacheFlushed, FlushRefused, SlotsAudited (former), CacheDescribed (cache): an engine's answers;
//	          ListPages (portal): what the caches have; PagesListed (cache): a part of one;
//	          CacheChanged (cache): what the router should know;
//	          EngineJoined, EngineLeft (link): an engine of a cluster can be reached, or not any more;
//	          EngineReported (link): its speed, and the requests of other gateways;
//	          ResumeDue (itself): held requests may have waited too long
//	Sends:    EnqueueRequests, FinishRequests (queue): to the request's engine;
//	          FlushCache, AuditSlots (former), DescribeCache (cache): to every engine;
//	          ListPages (cache), PagesListed (portal): a list, engine by engine;
//	          StepResults (former): back for reuse, to the engine that they came from;
//	          StepResults, CacheFlushed, FlushRefused, SlotsAudited, CacheDescribed (intake): of all engines;
//	          EpochStarted, EpochEnded (intake): the first engine is up, an engine has lost requests;
//	          CacheChanged (observer): passed on; ResumeDue (itself): the timer for held requests;
//	          FailEpoch (supervisor): results have a gap, or all engines start over
//	State:    facts and epochs of the engines, the engine of each request, held requests, open questions
//	On failure: restarted; the next incarnation sends EpochEnded to intake and FailEpoch to every
//	          supervisor, so that all start over. In a cluster FailEpoch ends the links instead
//
// # Parts
//
//	handle, core, options   messages; state and invariants
//	requests, isolate       who gets a request, and moves; an engine for a quarantined request
//	list                    cached pages of all engines, for a portal
//	results, questions      results on their way to intake; questions to all engines
//	epochs, resume          engines come and go; requests that no engine can take
//
// # Floors
//
//	options
//	core
//	resume questions list
//	requests isolate
//	results
//	epochs
//	handle
package dispatch
