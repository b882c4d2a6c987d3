// Package link is the core of the two ends of a link between a gateway and an engine. A
// link is the life of one connection between two processes. What is sent on it arrives
// completely and in order, or the link is over; then the gateway has lost the engine, and
// the engine releases what the gateway had. Nothing is sent twice.
//
// Both ends send heartbeats. Silence, a gap in the numbers of frames, a message that is not
// possible, or a peer that does not keep up ends a link. A goodbye ends it without suspects.
//
//	Receives: FrameReceived, LinkBroken, EndLink (node): of the connection; HeartbeatDue (itself);
//	          EngineReported (portal): for the heartbeats of an engine;
//	          EnqueueRequests, FinishRequests, FlushCache, AuditSlots, DescribeCache, StepResults (dispatch): as the engine;
//	          FailEpoch (dispatch): the gateway starts over, so the link ends;
//	          EpochStarted, EpochEnded, StepResults, CacheFlushed, FlushRefused, SlotsAudited, CacheDescribed, CacheChanged (portal): as the gateway
//	Sends:    EngineJoined, EngineLeft, EngineReported (dispatch): the engine can be reached, or not any more; its load;
//	          EpochStarted, EpochEnded, StepResults, CacheFlushed, FlushRefused, SlotsAudited, CacheDescribed, CacheChanged (dispatch): of the engine;
//	          GatewayJoined, GatewayLeft (portal): the gateway can be reached, or not any more;
//	          EnqueueRequests, FinishRequests, FlushCache, AuditSlots, DescribeCache (portal): of the gateway;
//	          HeartbeatDue (itself); frames to the other end
//	State:    numbers and sizes of frames, open requests
//	On failure: the link is over, as if the connection was lost. A new link is a new actor
//
// # Parts
//
//	options            intervals and limits
//	channel, pieces    what both ends do: numbers, heartbeats, windows; large messages in pieces
//	prompts            results with log probabilities of long prompts, which go in pieces
//	engine             the gateway's end: it plays the engine
//	gateway            the engine's end: it plays the gateway
//
// # Floors
//
//	options
//	pieces
//	channel
//	prompts
//	engine gateway
package link
