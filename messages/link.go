package messages

// ToLink is the set of messages that the ends of a link accept. The gateway's end plays an
// engine to dispatch, and takes what dispatch sends to an engine. The engine's end plays a
// gateway to the portal, and takes what a portal sends to a gateway.
type ToLink interface{ toLink() }

// FrameReceived is a frame of the peer, a *wire.Frame. Frames come in order or not at all.
type FrameReceived struct{ Frame any }

// LinkBroken says that the connection to the peer is lost.
type LinkBroken struct{ Cause string }

// EndLink ends a link with a goodbye: this node drains, or the peer must not go on.
type EndLink struct{ Cause string }

// HeartbeatDue is the timer of a link's heartbeats.
type HeartbeatDue struct{}

func (*FrameReceived) toLink()   {}
func (*LinkBroken) toLink()      {}
func (*EndLink) toLink()         {}
func (*HeartbeatDue) toLink()    {}
func (*EnqueueRequests) toLink() {}
func (*FinishRequests) toLink()  {}
func (*FlushCache) toLink()      {}
func (*AuditSlots) toLink()      {}
func (*DescribeCache) toLink()   {}
func (*StepResults) toLink()     {}
func (*FailEpoch) toLink()       {}
func (*EpochStarted) toLink()    {}
func (*EpochEnded) toLink()      {}
func (*CacheFlushed) toLink()    {}
func (*FlushRefused) toLink()    {}
func (*SlotsAudited) toLink()    {}
func (*CacheDescribed) toLink()  {}
func (*CacheChanged) toLink()    {}
func (*EngineReported) toLink()  {}
