package messages

// ToPortal is the set of messages that a portal accepts. To an engine, a portal plays
// intake and the observer; to each gateway it plays one engine. The messages of gateways
// come through their links, which have the slot of the gateway in Header.Engine.
type ToPortal interface{ toPortal() }

// GatewayJoined says that the link to a gateway has begun. Gateway is its slot, which no
// other link has at that time.
type GatewayJoined struct{ Gateway EngineID }

// GatewayLeft says that the link to a gateway is over. Its requests are released.
type GatewayLeft struct{ Gateway EngineID }

func (*GatewayJoined) toPortal()   {}
func (*GatewayLeft) toPortal()     {}
func (*EnqueueRequests) toPortal() {}
func (*FinishRequests) toPortal()  {}
func (*FlushCache) toPortal()      {}
func (*AuditSlots) toPortal()      {}
func (*DescribeCache) toPortal()   {}
func (*EpochStarted) toPortal()    {}
func (*EpochEnded) toPortal()      {}
func (*StepResults) toPortal()     {}
func (*CacheFlushed) toPortal()    {}
func (*FlushRefused) toPortal()    {}
func (*SlotsAudited) toPortal()    {}
func (*CacheDescribed) toPortal()  {}
func (*CacheChanged) toPortal()    {}
