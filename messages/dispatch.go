package messages

import "time"

// ToDispatch is the set of messages that dispatch accepts: those from intake to a
// queue, a batch former or a cache, and those from engines to intake. To intake,
// dispatch plays one engine; to engines, it plays intake.
type ToDispatch interface{ toDispatch() }

// EngineFacts are what a gateway must know of an engine to choose it for a request.
type EngineFacts struct {
	// Fingerprint is of the engine's numerics. A request with output continues only on
	// an engine with the same one, where it gets the same tokens.
	Fingerprint string
	PoolTokens  int // that its KV pool holds; 0: intake has checked that every request fits
}

// EngineJoined says that the link to an engine has begun. Engine is its slot, which no other
// link has at that time. The engine is up when its EpochStarted comes.
type EngineJoined struct {
	Engine EngineID
	Facts  EngineFacts
}

// EngineLeft says that the link to an engine is over, and that its requests are lost.
type EngineLeft struct {
	Engine EngineID
	Cause  string
	// NoSuspects: the engine has announced it, or was only silent. Otherwise its process may
	// have died of a request, so the requests that it had admitted are suspects.
	NoSuspects bool
}

// EngineReported is an engine's own report, for the choice of engines. It counts in any
// epoch; of its header only Engine matters. From the portal that is the slot of the
// gateway that gets the report, and from the gateway's end of the link the engine's slot.
type EngineReported struct {
	Header
	Others EngineLoad // requests of other gateways
	Speed  float64    // prompt tokens that it computes in a second; 0: not measured yet
	// Gateways is how many have a link to the engine; 0: not known yet.
	Gateways int
}

// ResumeDue wakes dispatch to end requests that no engine could take for too long. The
// wiring of a gateway sends one at the start, with At zero.
type ResumeDue struct {
	At time.Duration // when it was due; it identifies the timer
}

// EngineLoad sums up requests that have not ended.
type EngineLoad struct {
	Waiting       int // requests without a first token
	WaitingTokens int // of their prompts, without what is cached
	Running       int // requests that produce output
	RunningTokens int // of their prompts
}

func (*EngineJoined) toDispatch()    {}
func (*EngineLeft) toDispatch()      {}
func (*EngineReported) toDispatch()  {}
func (*ResumeDue) toDispatch()       {}
func (*EnqueueRequests) toDispatch() {}
func (*FinishRequests) toDispatch()  {}
func (*FlushCache) toDispatch()      {}
func (*AuditSlots) toDispatch()      {}
func (*DescribeCache) toDispatch()   {}
func (*StepResults) toDispatch()     {}
func (*EpochStarted) toDispatch()    {}
func (*EpochEnded) toDispatch()      {}
func (*CacheFlushed) toDispatch()    {}
func (*FlushRefused) toDispatch()    {}
func (*SlotsAudited) toDispatch()    {}
func (*CacheDescribed) toDispatch()  {}
func (*CacheChanged) toDispatch()    {}
func (*FailEpoch) toDispatch()       {}
