package httpapi

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
)

const (
	mostBoardEvents = 30          // the newest ones
	operatorsPeriod = time.Second // between two questions for actors and events, which other nodes answer, too
)

// operators is what frames show of the cluster. It is asked less often than the engines.
type operators struct {
	cluster Cluster
	seen    atomic.Pointer[operatorsView]
	newest  uint64 // number of the newest event
	history []report.Event
}

// operatorsView is what was seen last.
type operatorsView struct {
	actors []report.Actor
	events []report.Event
}

func newOperators(c Cluster) *operators {
	o := &operators{cluster: c}
	o.seen.Store(&operatorsView{actors: []report.Actor{}, events: []report.Event{}})
	return o
}

// follow keeps asking for the actors and the events. Nodes that do not answer delay only
// these.
func (o *operators) follow(ctx context.Context) {
	period := time.NewTicker(operatorsPeriod)
	defer period.Stop()
	for {
		view := &operatorsView{actors: []report.Actor{}, events: []report.Event{}}
		if list, err := o.cluster.Actors(ctx, ""); err == nil {
			view.actors = list
		}
		if last, err := o.cluster.Last(ctx); err == nil && last > o.newest {
			if list, err := o.cluster.Events(ctx, o.newest); err == nil && len(list) > 0 {
				o.newest = list[len(list)-1].Number
				o.history = append(o.history, list...)
				o.history = slices.Clone(o.history[max(0, len(o.history)-mostBoardEvents):])
			}
		}
		view.events = append(view.events, o.history...)
		o.seen.Store(view)
		select {
		case <-period.C:
		case <-ctx.Done():
			return
		}
	}
}
