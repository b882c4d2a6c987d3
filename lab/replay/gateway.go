package replay

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/dispatch"
)

// gateway is the process of a gateway: dispatch with its router, and intake's part. Its slot
// at every engine is its number.
type gateway struct {
	world    *world
	slot     messages.EngineID
	dispatch *dispatch.Core
	intake   *intake
	mail     []messages.ToDispatch
	out      messages.Outbox
}

func newGateway(w *world, slot int) *gateway {
	opt := dispatch.Options{Route: w.routing(slot, 0)}
	if w.opt.routesByPrefix() {
		opt.Pages = func(r *messages.EngineRequest) []uint64 { return radix.PageHashes("", r.Prompt, w.opt.PageSize) }
	}
	return &gateway{world: w, slot: messages.EngineID(slot), dispatch: dispatch.New(1, opt), intake: newIntake(w)}
}

func (g *gateway) submit(now time.Duration, r *messages.EngineRequest, arrived time.Duration) {
	g.intake.add(r, arrived).request = r
	g.receive(now, nil, g.enqueue([]*messages.EngineRequest{r}))
}

func (g *gateway) enqueue(requests []*messages.EngineRequest) *messages.EnqueueRequests {
	return &messages.EnqueueRequests{Header: g.dispatch.Own(), Requests: requests}
}

// receive handles a message, of an engine or nil, and those that follow from it here. What
// follows for engines is passed on later.
func (g *gateway) receive(now time.Duration, by *engine, first messages.ToDispatch) {
	g.mail = append(g.mail[:0], first)
	for i := 0; i < len(g.mail); i++ {
		g.dispatch.Handle(now, g.mail[i], &g.out)
		for _, s := range g.out.Sends {
			g.send(now, by, s)
		}
		g.out.Reset()
	}
	clear(g.mail)
}

func (g *gateway) send(now time.Duration, by *engine, s messages.Send) {
	switch m := s.Msg.(type) {
	case *messages.StepResults:
		g.intake.results(now, m, by)
		g.mail = append(g.mail, m) // for reuse
	case *messages.EpochEnded:
		again := make([]*messages.EngineRequest, 0, len(m.Requests))
		for _, id := range m.Requests {
			again = append(again, g.intake.open[id].again())
		}
		g.intake.seq++
		g.world.cluster.moved += len(again)
		g.mail = append(g.mail, g.enqueue(again))
	case *messages.EnqueueRequests:
		g.world.toEngine(m.Header, &messages.EnqueueRequests{Header: g.header(), Requests: m.Requests})
	case *messages.FinishRequests:
		g.world.toEngine(m.Header, &messages.FinishRequests{Header: g.header(), IDs: m.IDs})
	case *messages.EpochStarted, *messages.CacheChanged: // intake would begin, and the observer listen
	default:
		g.world.fail(fmt.Errorf("bug: gateway %d: unexpected message %T to %v; please report this", g.slot, m, s.To))
	}
}

// header is what a portal knows the gateway by. A portal here has one epoch.
func (g *gateway) header() messages.Header { return messages.Header{Engine: g.slot, Epoch: 1} }
