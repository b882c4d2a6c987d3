package messages

import "time"

// ToPortal is the set of messages that a portal accepts. To an engine, a portal plays
// intake and the observer; to each gateway it plays one engine. The messages of gateways
// come through their links, which have the slot of the gateway in Header.Engine.
type ToPortal interface{ toPortal() }

// GatewayJoined says that the link to a gateway has begun. Gateway is its slot, which no
// other link has at that time.
type GatewayJoined struct{ Gateway EngineID }

// GatewayLeft says that the link to a gateway is over. Its requests are released.
type GatewayLeft struct{ Gateway EngineID }

// ReportDue is the timer of a portal's reports to its gateways.
type ReportDue struct {
	At time.Duration // when it was due; it identifies the timer
}

// PagesListed answers ListPages: hashes of cached pages, node by node, those of a node in
// token order. Its place among the cache's CacheChanged counts: a page that is removed
// later is in a later CacheChanged.
type PagesListed struct {
	Header
	Ticket Ticket
	Hashes []uint64 // moved
	Next   uint64   // After of the next ListPages; 0: this is the last part
}

func (*ReportDue) toPortal()       {}
func (*PagesListed) toPortal()     {}
func (*PagesListed) toDispatch()   {}
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
func (*FailEpoch) toPortal()       {}
