package simtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/troupe-engine/troupe/messages"
	intake "github.com/troupe-engine/troupe/request"
)

// call is one call of a client.
type call struct {
	gateway  *gateway
	id       messages.CallID // of its gateway
	requests []*request
	events   chan messages.CallEvent
	leaveAt  int // messages after which the client leaves; -1: never
	sent     bool
	accepted bool
	left     bool // aborted or dropped
	dropped  bool // its client has stopped reading
	lost     bool // its gateway has died
}

func newCall(r *rand.Rand) *call {
	return &call{events: make(chan messages.CallEvent, pick(r, 4, 5, 64)), leaveAt: -1}
}

func (k *call) userID() string { return "user-" + strconv.Itoa(int(k.id)) }

// errDetok is a panic of foreign code inside of intake's core.
var errDetok = errors.New("the detokeniser panicked")

// detokenizer makes the text of tokens; sometimes it panics.
type detokenizer struct{ w *World }

func (d detokenizer) NewStream([]int32, bool, bool) intake.Stream { return d }

func (d detokenizer) Push(id int32) string {
	if d.w.cfg.Crashes > 0 && d.w.rnd.Float64() < d.w.cfg.Crashes/4 {
		panic(errDetok)
	}
	return piece(id)
}

func (d detokenizer) Flush() string { return "" }

// arrive lets the next call come.
func (w *World) arrive() {
	k := w.calls[w.arrived]
	w.arrived++
	if k.lost = k.gateway.dead; k.lost {
		return // nothing listens
	}
	k.sent = true
	m := &messages.SubmitRequests{Call: k.id, UserID: k.userID(), Events: k.events}
	for _, q := range k.requests {
		m.Requests = append(m.Requests, q.sub)
	}
	w.send(k.gateway.at(messages.Client), messages.Intake, m)
}

// disturb lets clients leave that are due, lets one read, and now and then asks for a
// flush or an audit, or changes the limits.
func (w *World) disturb() {
	for _, k := range w.calls[:w.arrived] {
		if k.leaveAt < 0 || k.leaveAt > w.stats.Delivered || k.left || k.lost {
			continue
		}
		k.left = true
		if w.rnd.IntN(2) == 0 {
			k.dropped = true
			w.send(k.gateway.at(messages.Client), messages.Intake, &messages.DropCall{Call: k.id})
		} else {
			w.send(k.gateway.at(messages.Client), messages.Intake, &messages.AbortRequests{UserID: k.userID()})
		}
	}
	if w.cfg.Cluster {
		w.disturbLinks()
		w.disturbProcesses()
	}
	if w.arrived > 0 && w.rnd.IntN(3) == 0 {
		w.read(w.calls[w.rnd.IntN(w.arrived)])
	}
	if w.rnd.IntN(150) == 0 && w.arrived < len(w.calls) {
		g := w.gateways[0]
		if len(w.gateways) > 1 {
			g = pick(w.rnd, w.livingGateways()...)
		}
		switch w.rnd.IntN(4) {
		case 0:
			g.askFlush()
		case 1:
			g.askAudit()
		case 2:
			g.askSnapshot()
		default:
			g.configure()
		}
	}
}

func (g *gateway) askFlush() {
	reply := make(chan string, 1)
	g.flushes = append(g.flushes, reply)
	g.send(g.at(messages.Client), messages.Intake, &messages.AskCacheFlush{Reply: reply})
}

// configure sends intake limits that no call of the run exceeds, or that are out of
// range.
func (g *gateway) configure() {
	limits := messages.IntakeLimits{MaxOpenRequests: 1000 + g.rnd.IntN(3)}
	if g.rnd.IntN(2) == 0 {
		limits.QueueTimeout = -1
	}
	g.send(g.at(messages.Client), messages.Intake, &messages.ConfigureIntake{Limits: limits, Reply: make(chan string, 1)})
}

func (g *gateway) askAudit() {
	reply := make(chan *messages.SlotsAudited, 1)
	g.audits = append(g.audits, reply)
	g.send(g.at(messages.Client), messages.Intake, &messages.AskAudit{Reply: reply})
}

func (g *gateway) askSnapshot() {
	reply := make(chan *messages.SnapshotTaken, 1)
	g.snapshots = append(g.snapshots, reply)
	g.send(g.at(messages.Client), messages.Intake, &messages.AskSnapshot{Reply: reply})
}

func (g *gateway) askTree() {
	reply := make(chan *messages.CacheDescribed, 1)
	g.trees = append(g.trees, reply)
	g.send(g.at(messages.Client), messages.Intake, &messages.AskCacheTree{Reply: reply})
}

// askLast empties the cache once everything is over, and counts.
func (w *World) askLast() bool {
	if w.last {
		return false
	}
	w.last = true
	for _, g := range w.livingGateways() {
		g.askAudit()
		g.askSnapshot()
		g.askTree()
		g.askFlush()
		g.askAudit()
	}
	return true
}

// read drains a call's channel and reports whether anything was in it.
func (w *World) read(k *call) (any bool) {
	if k.dropped || k.lost {
		return false
	}
	for {
		select {
		case ev := <-k.events:
			any = true
			w.event(k, ev)
		default:
			return any
		}
	}
}

func (w *World) event(k *call, ev messages.CallEvent) {
	switch ev := ev.(type) {
	case *messages.CallAccepted:
		k.accepted = true
	case *messages.CallOutput:
		if !k.accepted {
			w.fail("call %d got output before it was accepted", k.id)
		}
		if err := k.requests[ev.Index].take(ev); err != nil {
			w.fail("%w", err)
		}
		if ev.Paused {
			w.send(k.gateway.at(messages.Client), messages.Intake, &messages.ResumeOutput{Call: k.id})
		}
	default:
		w.fail("call %d got %T: %+v", k.id, ev, ev)
	}
}

// takeIntake runs intake's core and notes its input.
func (g *gateway) takeIntake(msg messages.ToIntake) {
	switch m := msg.(type) {
	case *messages.SubmitRequests:
		for _, q := range g.own[m.Call-1].requests {
			if q.id == 0 {
				g.byID = append(g.byID, q)
				q.id = messages.RequestID(len(g.byID))
			}
		}
	case *messages.AbortRequests, *messages.DropCall:
		g.noteLeft(m)
	case *messages.EpochStarted:
		g.heard, g.standing, g.seq = m.Header, true, 0
		for _, q := range g.byID {
			q.finishes, q.acks, q.released = 0, 0, false
		}
	case *messages.EpochEnded:
		if m.Requests == nil {
			g.standing = false
		}
	case *messages.FlushRefused:
		g.stats.Refusals++
		if m.Running < 1 && g.dispatch == nil { // of several engines none may be up
			g.fail("a flush was refused with %d requests running", m.Running)
		}
	case *messages.CacheFlushed:
		g.stats.Flushes++
	}
	g.intake.Handle(g.now(), msg, &g.out)
	// After the core: if it panics, these messages do not count.
	switch m := msg.(type) {
	case *messages.StepResults:
		if m.Header == g.heard && g.standing {
			g.heardResults(m)
		}
	case *messages.EpochEnded:
		if m.Requests != nil && m.Header == g.heard && g.standing && g.next(m.Seq) {
			for _, id := range m.Requests {
				g.byID[id-1].released = false
			}
		}
	}
}

// noteLeft ends the requests of a call whose client has left; intake gets the message
// now.
func (g *gateway) noteLeft(msg any) {
	for _, k := range g.own {
		drop, isDrop := msg.(*messages.DropCall)
		abort, isAbort := msg.(*messages.AbortRequests)
		if isDrop && drop.Call == k.id || isAbort && abort.UserID == k.userID() {
			for _, q := range k.requests {
				q.ended = true
			}
		}
	}
}

// next checks a sequence number of intake's input. After a gap nothing counts.
func (g *gateway) next(seq uint64) bool {
	if g.seq++; seq == g.seq {
		return true
	}
	// One was lost when intake crashed; intake must also have seen it, and
	// the supervisor fails the run if the epoch has not ended already.
	g.standing = false
	if n := len(g.out.Sends); n == 0 || g.out.Sends[n-1].To != messages.Supervisor {
		g.fail("number %d follows %d and intake does not fail the epoch", seq, g.seq-1)
	}
	return false
}

func (g *gateway) heardResults(m *messages.StepResults) {
	if !g.next(m.Seq) {
		return
	}
	if g.cfg.Cluster && len(m.Tokens) > 0 && m.Fingerprint != fingerprint {
		g.fail("tokens come from an engine with the fingerprint %q", m.Fingerprint)
	}
	for i := range m.Tokens {
		if err := g.byID[m.Tokens[i].ID-1].heard(&m.Tokens[i]); err != nil {
			g.fail("%w", err)
		}
	}
	for i := range m.Ended {
		if err := g.byID[m.Ended[i].ID-1].heardEnd(&m.Ended[i]); err != nil {
			g.fail("%w", err)
		}
	}
}

// finish checks what must hold when nothing is left to do.
func (w *World) finish() {
	for _, k := range w.calls {
		for _, q := range k.requests {
			if k.dropped {
				continue
			}
			err := q.checkTokens()
			if err == nil && !k.lost {
				err = q.finished(&w.cfg, k.left || w.cfg.SuspectLimit > 0 && !w.cfg.Poison || w.poisonous(q.sub.Prompt))
			}
			if err == nil && w.poisonous(q.sub.Prompt) && (q.finish.Reason != messages.FinishError || len(q.tokens) > 0) {
				err = fmt.Errorf("request %d, which kills engines, has %d tokens and ends by %s", q.id, len(q.tokens), q.finish.Reason)
			}
			if err != nil {
				w.fail("%w", err)
			}
		}
	}
	for _, g := range w.livingGateways() {
		g.finish()
	}
	for _, e := range w.livingEngines() {
		e.finish()
	}
	for _, b := range w.bridges {
		b.checkUp()
	}
	if w.stats.Steps > 0 && w.stats.Epochs == 1 && w.stats.Audits == 0 {
		w.fail("no audit passed")
	}
}

// poisonous reports whether a prompt kills the engine that computes it.
func (w *World) poisonous(prompt []int32) bool {
	return w.cfg.Poison && slices.Equal(prompt, w.calls[0].requests[0].sub.Prompt)
}

// finish checks that every request and question has ended.
func (g *gateway) finish() {
	if n := g.table.Open(); n > 0 {
		g.fail("%d requests are open in intake's table", n)
	}
	for _, reply := range g.flushes {
		if len(reply) != 1 {
			g.fail("a flush has no answer")
		}
	}
	for _, reply := range g.trees {
		if len(reply) != 1 {
			g.fail("a question for the cache's tree has no answer")
		}
	}
	for _, reply := range g.snapshots {
		if len(reply) != 1 {
			g.fail("a question for a snapshot has no answer")
		} else if s := <-reply; s != nil {
			g.checkSnapshot(s)
		}
	}
	for _, reply := range g.audits {
		if len(reply) != 1 {
			g.fail("an audit has no answer")
		} else if a := <-reply; a != nil && (!a.OK || !a.Count.Balanced() || a.Count.Total%g.cfg.Pages != 0) {
			g.fail("an audit says %+v", a)
		}
	}
}

// checkSnapshot checks that a snapshot agrees with itself and with intake's table.
func (g *gateway) checkSnapshot(s *messages.SnapshotTaken) {
	if !s.OK || len(s.Engines) == 0 {
		g.fail("a snapshot of %d engines says %+v", len(s.Engines), s.Count)
	}
	open := map[messages.RequestID]bool{}
	for _, r := range s.Open {
		open[r.ID] = true
	}
	for _, e := range s.Engines {
		for _, r := range e.Requests {
			private := 0
			for _, run := range r.Private {
				for _, owner := range e.Pages[run.First-1:][:run.N] {
					if private++; owner != messages.PageLeased {
						g.fail("request %d has a page that is %s", r.ID, owner)
					}
				}
			}
			if private+r.Hidden != r.Pages-r.Shared || r.State == messages.StateRetracted && r.Pages > 0 {
				g.fail("request %d is %s with %d pages, %d shared, %d private", r.ID, r.State, r.Pages, r.Shared, private)
			}
			// With several engines, results of one may come before the snapshot of another.
			if one := len(g.engines) == 1 && !g.cfg.Cluster; one && r.State != messages.StateEnding && !open[r.ID] {
				g.fail("request %d is %s and not open", r.ID, r.State)
			}
		}
	}
}

// finish checks that the engine's cores hold nothing.
func (e *engine) finish() {
	if v := e.device.Violations(); len(v) > 0 {
		e.fail("the device saw: %s", v[0])
	}
	load, tree := e.former.Load(), e.cache.Tree()
	if load.Running+load.Retracted+load.Leased > 0 || !load.Resting {
		e.fail("the batch former holds %+v at the end", load)
	}
	if tree.Protected()+tree.Evictable() > 0 && e.stats.Epochs == len(e.engines) && e.stats.Cuts+e.stats.Deaths == 0 || e.alloc.Free()+tree.Evictable() != e.cfg.Pages {
		e.fail("%d pages are free, %d evictable, %d protected at the end", e.alloc.Free(), tree.Evictable(), tree.Protected())
	}
	if e.queue.Waiting() > 0 {
		e.fail("%d requests wait at the end", e.queue.Waiting())
	}
}
