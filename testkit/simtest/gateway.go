package simtest

import (
	"github.com/troupe-engine/troupe/messages"
	intake "github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/dispatch"
)

// gateway is a process with an intake and its clients. Without a cluster the only one also
// has the engines.
type gateway struct {
	*World
	slot  messages.EngineID // of its links, at each engine
	own   []*call           // by id-1
	byID  []*request        // by id-1
	table *intake.Table
	// intake is replaced when it panics; the table remains.
	intake   *intake.Core
	dispatch *dispatch.Core // nil with one engine, unless it is in a cluster

	// Intake's view of its engine, and the number of results it has received.
	heard    messages.Header
	standing bool
	seq      uint64

	flushes   []chan string
	audits    []chan *messages.SlotsAudited
	trees     []chan *messages.CacheDescribed
	snapshots []chan *messages.SnapshotTaken
	dead      bool // the process has died and is not started again
}

func (g *gateway) at(role messages.Actor) place { return place{role: role, gateway: g} }

// addGateway starts a gateway.
func (w *World) addGateway(slot messages.EngineID) {
	g := &gateway{World: w, slot: slot}
	w.gateways = append(w.gateways, g)
	g.begin()
	if !w.cfg.Cluster {
		return
	}
	for _, e := range w.engines {
		w.bridges = append(w.bridges, &bridge{World: w, gateway: g, engine: e})
	}
}

// begin is what the start of a gateway's process does. It knows nothing of an earlier one.
func (g *gateway) begin() {
	g.table, g.byID, g.flushes, g.audits, g.trees, g.snapshots = intake.NewTable(g.cfg.table()), nil, nil, nil, nil, nil
	g.heard, g.standing, g.seq = messages.Header{}, false, 0
	g.newIntake()
	if len(g.engines) > 1 || g.cfg.Cluster {
		g.dispatch = dispatch.New(1, g.cfg.dispatch())
	}
}

func (g *gateway) newIntake() {
	g.intake = intake.NewCore(g.table, intake.CoreOptions{Detokenizer: detokenizer{g.World}})
}

// spreadCalls says which gateway each call comes to.
func (w *World) spreadCalls() {
	for _, k := range w.calls {
		g := w.gateways[0]
		if len(w.gateways) > 1 {
			g = pick(w.rnd, w.gateways...)
		}
		k.gateway, k.id = g, messages.CallID(len(g.own)+1)
		g.own = append(g.own, k)
	}
}

// crashDispatch has dispatch start over with all engines. In a cluster every link ends and
// begins again.
func (g *gateway) crashDispatch() {
	own := g.dispatch.Own()
	g.dispatch = dispatch.New(own.Epoch, g.cfg.dispatch())
	g.dispatch.Handle(g.now(), &messages.FailEpoch{Header: own, From: messages.Dispatch, Cause: "crash"}, &g.out)
	for _, s := range g.out.Sends {
		g.send(g.at(messages.Dispatch), s.To, s.Msg)
	}
	g.out.Reset()
	for _, b := range g.bridges {
		if b.gateway == g {
			g.stats.Cuts++
			g.post(b.nearEnd(), &messages.EndLink{Cause: "dispatch crashed"})
			b.again()
		}
	}
}

// die ends the process, with all of its clients. A new one may take its place, which gets
// the calls that come later.
func (g *gateway) die(again bool) {
	g.stats.Deaths++
	for _, k := range g.calls[:g.arrived] {
		k.lost = k.lost || k.gateway == g
	}
	g.loseMail(func(p place) bool { return p.gateway == g })
	g.begin()
	g.dead = !again
	for _, b := range g.bridges {
		if b.gateway == g {
			b.near, b.epoch = nil, 0
			g.post(b.farEnd(), &messages.LinkBroken{Cause: "the gateway has died"})
			b.again()
		}
	}
}

// die ends an engine's process. A new one may take its place.
func (e *engine) die(again bool) {
	e.stats.Deaths++
	if v := e.device.Violations(); len(v) > 0 {
		e.fail("the device saw: %s", v[0])
	}
	e.loseMail(func(p place) bool { return p.engine == e })
	e.epoch, e.plans, e.dead = 0, 0, !again
	e.frozen = frozen{on: e.frozen.on}
	for _, b := range e.bridges {
		if b.engine == e {
			b.far = nil
			e.post(b.nearEnd(), &messages.LinkBroken{Cause: "the engine has died"})
			b.again()
		}
	}
	if again {
		e.begin()
		e.start()
	}
}

// loseMail drops what is on its way to a process. What it has sent to others arrives.
func (w *World) loseMail(in func(place) bool) {
	for _, l := range w.links {
		if in(l.to) {
			w.mail[l] = nil
		}
	}
}

// disturbProcesses ends one now and then. Some gateway and some engine always remain.
func (w *World) disturbProcesses() {
	if w.cfg.Deaths == 0 || w.last || w.rnd.Float64() >= w.cfg.Deaths {
		return
	}
	again := w.rnd.IntN(3) > 0
	if w.rnd.IntN(2) == 0 {
		g := pick(w.rnd, w.gateways...)
		if living := w.livingGateways(); !g.dead {
			g.die(again || len(living) == 1)
		}
		return
	}
	e := pick(w.rnd, w.engines...)
	if living := w.livingEngines(); !e.dead {
		e.die(again || len(living) == 1)
	}
}

func (w *World) livingGateways() (list []*gateway) {
	for _, g := range w.gateways {
		if !g.dead {
			list = append(list, g)
		}
	}
	return list
}

func (w *World) livingEngines() (list []*engine) {
	for _, e := range w.engines {
		if !e.dead {
			list = append(list, e)
		}
	}
	return list
}
