// Package portal is the core of the actor between one engine and its gateways. To the
// engine it acts as intake and observer; to each gateway it acts as one engine (queue,
// batch former, cache and supervisor). It gives requests ids of the engine's own, splits
// each step's results by gateway, and returns the requests of an epoch that has ended.
//
// It keeps no tokens and no prompts. Of a request it knows only the gateway and its id there.
//
//	Receives: GatewayJoined, GatewayLeft (link): a gateway can be reached, or not any more;
//	          EnqueueRequests, FinishRequests, FlushCache, AuditSlots, DescribeCache (link): as an engine;
//	          EpochStarted, EpochEnded (supervisor), StepResults (former): as intake;
//	          CacheFlushed, FlushRefused, SlotsAudited (former), CacheDescribed (cache): the engine's answers;
//	          CacheChanged (cache): for the routers of all gateways
//	Sends:    EnqueueRequests, FinishRequests (queue), FlushCache, AuditSlots (former), DescribeCache (cache): of all gateways;
//	          StepResults (former): back for reuse;
//	          EpochStarted, EpochEnded, StepResults, CacheFlushed, FlushRefused, SlotsAudited, CacheDescribed, CacheChanged (link): to each gateway its part;
//	          FailEpoch (supervisor): results have a gap
//	State:    the gateway of each request, open questions
//	On failure: restarted; the next incarnation ends every link and the engine's epoch
//
// # Floors
//
//	core
//	epochs
//	results questions requests
//	handle
package portal
