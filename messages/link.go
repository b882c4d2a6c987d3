package messages

// ToEngineLink is the set of messages that a gateway's end of a link accepts. To dispatch
// it plays the actors of the engine at the other end.
type ToEngineLink interface{ toEngineLink() }

// ToGatewayLink is the set of messages that an engine's end of a link accepts. To the
// portal it plays the gateway at the other end.
type ToGatewayLink interface{ toGatewayLink() }

// FrameReceived is a frame of the peer, a *wire.Frame. Frames come in order or not at all.
type FrameReceived struct{ Frame any }

// LinkBroken says that the connection to the peer is lost.
type LinkBroken struct{ Cause string }

// EndLink ends a link with a goodbye: this node drains, or the peer must not go on.
type EndLink struct{ Cause string }

// HeartbeatDue is the timer of a link's heartbeats.
type HeartbeatDue struct{}

func (*FrameReceived) toEngineLink()   {}
func (*LinkBroken) toEngineLink()      {}
func (*EndLink) toEngineLink()         {}
func (*HeartbeatDue) toEngineLink()    {}
func (*EnqueueRequests) toEngineLink() {}
func (*FinishRequests) toEngineLink()  {}
func (*FlushCache) toEngineLink()      {}
func (*AuditSlots) toEngineLink()      {}
func (*DescribeCache) toEngineLink()   {}
func (*StepResults) toEngineLink()     {}
func (*FailEpoch) toEngineLink()       {}

func (*FrameReceived) toGatewayLink()  {}
func (*LinkBroken) toGatewayLink()     {}
func (*EndLink) toGatewayLink()        {}
func (*HeartbeatDue) toGatewayLink()   {}
func (*EpochStarted) toGatewayLink()   {}
func (*EpochEnded) toGatewayLink()     {}
func (*StepResults) toGatewayLink()    {}
func (*CacheFlushed) toGatewayLink()   {}
func (*FlushRefused) toGatewayLink()   {}
func (*SlotsAudited) toGatewayLink()   {}
func (*CacheDescribed) toGatewayLink() {}
func (*CacheChanged) toGatewayLink()   {}
func (*EngineReported) toGatewayLink() {}
