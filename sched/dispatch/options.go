package dispatch

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

// Self is the engine id of dispatch towards intake. No real engine has it.
const Self messages.EngineID = 1<<16 - 1

type Options struct {
	// Route chooses engines; Replicas is their number, their ids are 0 to Replicas-1.
	Route route.Options
	// Pages gives the chained hashes of a request's whole prompt pages, as the
	// engines' CacheChanged name them; nil if no policy needs them.
	Pages func(r *messages.EngineRequest) []uint64
	// ResumeWait (cluster-resume-wait) is how long a request waits for an engine that can
	// take it, before it ends. 0 means no limit, for the engines of one process. Example: 2m.
	ResumeWait time.Duration
}

func (o *Options) Validate() error {
	if o.Route.Replicas >= int(Self) {
		return fmt.Errorf("data-parallel-size is %d; it must be at most %d", o.Route.Replicas, Self-1)
	}
	if o.ResumeWait < 0 {
		return fmt.Errorf("cluster-resume-wait is %s; it must be at least 0", o.ResumeWait)
	}
	return o.Route.Validate()
}
