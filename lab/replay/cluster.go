package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// cluster is the world's part that several gateways need.
type cluster struct {
	gateways []*gateway
	next     int // gateway of the next request
	// passing are the messages of gateways to engines. They are delivered after the event
	// of which they follow.
	passing []passing
	failure error
	moved   int
	lost    bool
}

type passing struct {
	to  messages.Header // the engine, by its slot at a gateway, and its epoch
	msg messages.ToPortal
}

// connect makes the gateways, and has every engine join them.
func (w *world) connect() error {
	for i := range w.opt.Gateways {
		w.cluster.gateways = append(w.cluster.gateways, newGateway(w, i))
	}
	for _, e := range w.engines {
		if err := w.start(0, e); err != nil {
			return err
		}
	}
	if at := w.opt.LoseReplica; at > 0 {
		w.schedule(event{at: at, aside: true, do: w.lose})
	}
	return nil
}

// start has an engine join all gateways.
func (w *world) start(now time.Duration, e *engine) error {
	for _, g := range w.cluster.gateways {
		g.receive(now, e, &messages.EngineJoined{Engine: messages.EngineID(e.id)})
		if err := e.deliver(now, envelope{messages.Portal, &messages.GatewayJoined{Gateway: g.slot}}); err != nil {
			return err
		}
	}
	return e.deliver(now, envelope{messages.Portal, &messages.EpochStarted{Header: e.out.Own}})
}

// arrive gives a request to the next gateway, as a load balancer before them does.
func (w *world) arrive(r *messages.EngineRequest, arrived time.Duration) error {
	c := &w.cluster
	g := c.gateways[c.next]
	c.next = (c.next + 1) % len(c.gateways)
	g.submit(w.now, r, arrived)
	return w.pass()
}

// toPortal has the portal handle a message, and passes its part on to each gateway.
func (e *engine) toPortal(now time.Duration, m messages.ToPortal) {
	e.portal.Handle(now, m, &e.links)
	for _, s := range e.links.Sends {
		switch s.To {
		case messages.Queue, messages.Former, messages.Cache:
			e.mail = append(e.mail, envelope{s.To, s.Msg})
		case messages.Supervisor:
			e.fail("%s", s.Msg.(*messages.FailEpoch).Cause)
		default:
			e.toGateway(now, s.Msg)
		}
	}
	for _, t := range e.links.Timers {
		e.world.schedule(event{at: now + t.After, engine: e, due: envelope{messages.Portal, t.Msg}, aside: true})
	}
	e.links.Reset()
}

// toGateway replaces a link: the gateway knows the engine by another slot and epoch.
func (e *engine) toGateway(now time.Duration, msg any) {
	g := e.world.cluster.gateways[messages.HeaderOf(msg).Engine]
	h := messages.Header{Engine: messages.EngineID(e.id), Epoch: e.epoch}
	switch m := msg.(type) {
	case *messages.StepResults:
		m.Header = h
		g.receive(now, e, m)
	case *messages.EpochStarted:
		m.Header = h
		g.receive(now, e, m)
	case *messages.CacheChanged:
		m.Header = h
		e.later(now, g, m)
	case *messages.EngineReported:
		m.Header = h
		e.later(now, g, m)
	default:
		e.fail("unexpected message %T to a gateway", msg)
	}
}

// later is for what a gateway hears with a delay.
func (e *engine) later(now time.Duration, g *gateway, m messages.ToDispatch) {
	delay := e.world.opt.EventDelay
	if delay == 0 {
		g.receive(now, e, m)
		return
	}
	e.world.schedule(event{at: now + delay, aside: true, do: func(now time.Duration) { g.receive(now, e, m) }})
}

func (w *world) toEngine(to messages.Header, m messages.ToPortal) {
	w.cluster.passing = append(w.cluster.passing, passing{to, m})
}

func (w *world) fail(err error) {
	if w.cluster.failure == nil {
		w.cluster.failure = err
	}
}

// pass delivers what gateways have sent to engines. An engine that was lost gets nothing.
func (w *world) pass() error {
	c := &w.cluster
	for i := 0; i < len(c.passing) && c.failure == nil; i++ {
		p := c.passing[i]
		if e := w.engines[p.to.Engine]; e.epoch == p.to.Epoch {
			w.fail(e.deliver(w.now, envelope{messages.Portal, p.msg}))
			w.count(e)
		}
	}
	clear(c.passing)
	c.passing = c.passing[:0]
	return c.failure
}

// lose ends the busiest replica. Its gateways submit its requests again.
func (w *world) lose(now time.Duration) {
	w.cluster.lost = true
	busiest := slices.MaxFunc(w.engines, func(a, b *engine) int { return a.waiting + a.running - b.waiting - b.running })
	w.agenda = slices.DeleteFunc(w.agenda, func(e event) bool {
		gone := e.engine == busiest
		if gone && !e.aside {
			w.vital--
		}
		return gone
	})
	busiest.gauges = gauges{}
	w.count(busiest)
	next := busiest.successor(now)
	w.engines[next.id] = next
	for _, g := range w.cluster.gateways {
		g.receive(now, nil, &messages.EngineLeft{Engine: messages.EngineID(next.id), Cause: "the process has ended"})
	}
	w.schedule(event{at: now + w.opt.Restart, aside: true, do: func(now time.Duration) { w.fail(w.start(now, next)) }})
}

// successor is the engine after a restart, with the figures so far.
func (e *engine) successor(now time.Duration) *engine {
	next := newEngine(e.world, e.id)
	next.epoch = e.epoch + 1
	next.done, next.cachedTokens, next.steps, next.auditsFailed, next.warning = e.done, e.cachedTokens, e.steps, e.auditsFailed, e.warning
	next.runner.busy = e.runner.busy - max(0, e.runner.free-now)
	return next
}

// gatewaysSettled checks that every request of every gateway has ended.
func (w *world) gatewaysSettled() error {
	for _, g := range w.cluster.gateways {
		if n := len(g.intake.open); n > 0 {
			return fmt.Errorf("bug: gateway %d: %d requests have no result; please report this", g.slot, n)
		}
	}
	return nil
}
