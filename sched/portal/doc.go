// Package portal is the core of the actor between one engine and its gateways. To the
// engine it acts as intake and observer; to each gateway it acts as one engine (queue,
// batch former, cache and supervisor). It gives requests ids of the engine's own, splits
// each step's results by gateway, and returns the requests of an epoch that has ended.
//
// It keeps no tokens and no prompts. Of a request it knows only the gateway, its id there
// and its number of tokens. From that it tells each gateway of the requests of the others,
// and of the engine's speed. A gateway that joins gets a list of the cached pages.
//
//	Receives: GatewayJoined, GatewayLeft (link): a gateway can be reached, or not any more;
//	          EnqueueRequests, FinishRequests, FlushCache, AuditSlots, DescribeCache (link): as an engine;
//	          EpochStarted, EpochEnded (supervisor), StepResults (former): as intake;
//	          CacheFlushed, FlushRefused, SlotsAudited (former), CacheDescribed (cache): the engine's answers;
//	          CacheChanged (cache): for the routers of all gateways; PagesListed (cache): a part of the list;
//	          FailEpoch (dispatch): the gateway of this process starts over; ReportDue (itself): reports to all gateways
//	Sends:    EnqueueRequests, FinishRequests (queue), FlushCache, AuditSlots (former), DescribeCache (cache): of all gateways;
//	          StepResults (former): back for reuse; ListPages (cache): for a gateway that joins;
//	          EngineReported (link): the others' requests and the speed; ReportDue (itself): the timer for it;
//	          EpochStarted, EpochEnded, StepResults, CacheFlushed, FlushRefused, SlotsAudited, CacheDescribed, CacheChanged (link): to each gateway its part;
//	          FailEpoch (supervisor): results have a gap
//	State:    the gateway of each request, sums of them, open questions, the list that is being made
//	On failure: restarted; the next incarnation ends every link and the engine's epoch
//
// # Parts
//
//	handle, core                   messages; state and invariants
//	epochs, restart                gateways and the engine's epochs come and go
//	requests, results, questions   on their way from gateways to the engine, and back
//	load, meter                    reports to gateways; the engine's speed
//	list                           the cached pages, for a gateway that joins
//
// # Floors
//
//	meter
//	core
//	load list
//	epochs
//	restart
//	results questions requests
//	handle
package portal
