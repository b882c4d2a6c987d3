package messages

// ToDispatch is the set of messages that dispatch accepts: what intake tells a
// queue, a batch former or a cache, and what engines tell intake. Dispatch plays
// one engine to intake, and intake to several engines.
type ToDispatch interface{ toDispatch() }

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
