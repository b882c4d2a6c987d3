package messages

// ToDispatch is the set of messages that dispatch accepts: those from intake to a
// queue, a batch former or a cache, and those from engines to intake. To intake,
// dispatch plays one engine; to engines, it plays intake.
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
