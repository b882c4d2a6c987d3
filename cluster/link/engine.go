package link

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Engine is the gateway's end of a link. To dispatch it plays the engine at the other end.
// It compares the engine's results with what the engine was given, so that a wrong one
// ends this link and does not affect other links.
//
// Invariants:
//
//  1. open has exactly the requests that the engine's epoch was given and has not released.
//  2. Nothing is sent after the end, to either side.
//  3. Dispatch hears of a release only if it has asked for it since it sent the request.
type Engine struct {
	channel
	remote messages.Epoch  // the engine's own number of its epoch
	header messages.Header // of that epoch for dispatch
	up     bool
	seq    uint64 // of the engine's newest results
	open   map[messages.RequestID]open
	scores scores // only of open requests
}

// open is a request that the engine has.
type open struct {
	next    int  // the position of the next token
	release bool // dispatch has asked for it
}

// NewEngine returns the gateway's end of a new link.
func NewEngine(opt Options) *Engine {
	opt = opt.withDefaults()
	return &Engine{channel: channel{opt: opt}, header: messages.Header{Engine: opt.Slot, Epoch: opt.Epoch}, open: map[messages.RequestID]open{}, scores: scores{}}
}

// Epoch is the newest epoch that dispatch was told of, for the next link of the slot.
func (e *Engine) Epoch() messages.Epoch { return e.header.Epoch }

// Up reports whether the engine accepts requests.
func (e *Engine) Up() bool { return e.up }

func (e *Engine) Handle(now time.Duration, msg messages.ToLink, out *messages.Outbox) {
	if e.over {
		out.Record(messages.StaleMessages, 1)
		return
	}
	if !e.begun {
		out.ToDispatch(&messages.EngineJoined{Engine: e.opt.Slot, Facts: e.opt.Facts})
		e.begin(now, msg, out)
	}
	end, err := e.handle(now, msg, out)
	switch {
	case err != nil:
		e.end(ended{cause: err.Error()}, out)
	case end != nil:
		e.end(*end, out)
	}
}

func (e *Engine) handle(now time.Duration, msg messages.ToLink, out *messages.Outbox) (*ended, error) {
	switch m := msg.(type) {
	case *messages.HeartbeatDue:
		return e.tick(now, out), nil
	case *messages.FrameReceived:
		return e.frame(now, m.Frame.(*wire.Frame), out)
	case *messages.LinkBroken:
		return &ended{cause: m.Cause}, nil
	case *messages.EndLink:
		e.goodbye(m.Cause, out)
		return &ended{cause: m.Cause, noSuspects: true}, nil
	case *messages.FailEpoch:
		// This node starts over; other gateways of the engine go on.
		e.goodbye(m.Cause, out)
		return &ended{cause: m.Cause, noSuspects: true}, nil
	}
	if !e.up || messages.HeaderOf(msg) != e.header {
		out.Record(messages.StaleMessages, 1)
		return nil, nil
	}
	switch m := msg.(type) {
	case *messages.EnqueueRequests:
		for _, r := range m.Requests {
			e.open[r.ID] = open{next: len(r.Output)}
		}
		own := *m
		own.Epoch = e.remote
		return nil, e.sendBulk(out, wire.EncodeEnqueue(&own, now)...)
	case *messages.FinishRequests:
		for _, id := range m.IDs {
			if r, ok := e.open[id]; ok {
				r.release = true
				e.open[id] = r
			}
		}
		// Behind the requests, whose pieces may not be sent yet.
		own := *m
		own.Epoch = e.remote
		return nil, e.sendBulk(out, wire.EncodeFinish(&own))
	case *messages.FlushCache:
		return nil, e.send(wire.EncodeFlush(&messages.FlushCache{Header: e.far(), Ticket: m.Ticket}), out)
	case *messages.AuditSlots:
		return nil, e.send(wire.EncodeAudit(&messages.AuditSlots{Header: e.far(), Ticket: m.Ticket, Snapshot: m.Snapshot}), out)
	case *messages.DescribeCache:
		return nil, e.send(wire.EncodeDescribe(&messages.DescribeCache{Header: e.far(), Ticket: m.Ticket, Limits: m.Limits}), out)
	case *messages.StepResults: // back for reuse: the garbage collector has it
		return nil, nil
	}
	invariants.Fail("the gateway's end of a link got a %T", msg)
	return nil, nil
}

// far is the header of the epoch at the other end.
func (e *Engine) far() messages.Header { return messages.Header{Epoch: e.remote} }

// end tells dispatch that the engine is lost.
func (e *Engine) end(why ended, out *messages.Outbox) {
	e.over, e.up, e.why = true, false, why.cause
	clear(e.open)
	clear(e.scores)
	out.ToDispatch(&messages.EngineLeft{Engine: e.opt.Slot, Cause: why.cause, NoSuspects: why.noSuspects})
}

// frame handles a frame of the engine.
func (e *Engine) frame(now time.Duration, f *wire.Frame, out *messages.Outbox) (*ended, error) {
	bulk, end, err := e.receive(now, f, out)
	if err != nil || end != nil {
		return end, err
	}
	var m messages.ToDispatch
	switch b := f.Body.(type) {
	case *wire.Frame_Heartbeat:
		e.reported(b.Heartbeat, out)
		return nil, nil
	case *wire.Frame_Piece:
		if bulk == nil {
			return nil, nil
		}
		if p := bulk.GetPromptLogprobs(); p != nil {
			return nil, e.scored(p, out)
		}
		if m, err = wire.DecodeUpBulk(bulk, e.opt.Slot); err == nil && e.overtaken(messages.HeaderOf(m).Epoch, out) {
			return nil, nil
		}
	default:
		m, err = wire.DecodeUp(f, e.opt.Slot, &e.opt.Limits)
	}
	if r, ok := m.(*messages.StepResults); ok && err == nil {
		err = e.scores.attach(f.GetResults(), r)
	}
	if err != nil {
		return nil, err
	}
	return nil, e.deliver(m, out)
}

// overtaken reports whether the end of an epoch has come before a Bulk of it: frames do not
// wait for pieces.
func (e *Engine) overtaken(epoch messages.Epoch, out *messages.Outbox) bool {
	if epoch > e.remote || e.up && epoch == e.remote {
		return false
	}
	out.Record(messages.StaleMessages, 1)
	return true
}

// scored keeps log probabilities for the results that follow. The request may have been
// lost with a part of the engine.
func (e *Engine) scored(p *wire.PromptLogprobs, out *messages.Outbox) error {
	epoch := messages.Epoch(p.GetEpoch())
	if epoch > e.remote {
		return fmt.Errorf("log probabilities of epoch %d come in epoch %d", epoch, e.remote)
	}
	if _, ok := e.open[messages.RequestID(p.GetId())]; !ok || e.overtaken(epoch, out) {
		return nil
	}
	return e.scores.add(p, &e.opt.Limits)
}

func (e *Engine) reported(h *wire.Heartbeat, out *messages.Outbox) {
	l := h.GetOthers()
	most := func(n uint64) int { return int(min(n, 1<<40)) }
	out.ToDispatch(&messages.EngineReported{Header: messages.Header{Engine: e.opt.Slot}, Speed: h.GetSpeed(), Gateways: int(h.GetGateways()), Others: messages.EngineLoad{
		Waiting: most(l.GetWaiting()), WaitingTokens: most(l.GetWaitingTokens()), Running: most(l.GetRunning()), RunningTokens: most(l.GetRunningTokens()),
	}})
}

// deliver checks a message of the engine against the epoch and passes it on.
func (e *Engine) deliver(m messages.ToDispatch, out *messages.Outbox) error {
	h := messages.HeaderOf(m)
	if started, ok := m.(*messages.EpochStarted); ok {
		if e.up || h.Epoch <= e.remote {
			return fmt.Errorf("epoch %d starts after epoch %d", h.Epoch, e.remote)
		}
		e.remote, e.up, e.seq = h.Epoch, true, 0
		e.header.Epoch++
		started.Header = e.header
		out.ToDispatch(started)
		return nil
	}
	if !e.up || h.Epoch != e.remote {
		return fmt.Errorf("a %T of epoch %d comes in epoch %d", m, h.Epoch, e.remote)
	}
	switch m := m.(type) {
	case *messages.EpochEnded:
		m.Suspects = e.known(m.Suspects)
		if m.Requests == nil {
			e.up = false
			clear(e.open)
			clear(e.scores)
		} else if err := e.partLost(m); err != nil {
			return err
		}
		m.Header = e.header
	case *messages.StepResults:
		if err := e.check(m); err != nil {
			return err
		}
		m.Header = e.header
	case *messages.CacheChanged:
		m.Header = e.header
	case *messages.CacheFlushed:
		m.Header = e.header
	case *messages.FlushRefused:
		m.Header = e.header
	case *messages.SlotsAudited:
		m.Header = e.header
		for _, s := range m.Snapshots {
			s.Engine, s.Epoch = e.header.Engine, e.header.Epoch
		}
	case *messages.CacheDescribed:
		m.Header = e.header
	}
	out.ToDispatch(m)
	return nil
}

// partLost takes out the requests that are lost with a part of the engine.
func (e *Engine) partLost(m *messages.EpochEnded) error {
	if m.Seq != e.seq+1 {
		return fmt.Errorf("results %d came after results %d", m.Seq, e.seq)
	}
	e.seq = m.Seq
	for _, id := range m.Requests {
		if _, ok := e.open[id]; !ok {
			return fmt.Errorf("request %d was lost, which the engine does not have", id)
		}
		delete(e.open, id)
		delete(e.scores, id)
	}
	return nil
}

// known are those of some ids that are open.
func (e *Engine) known(ids []messages.RequestID) (list []messages.RequestID) {
	for _, id := range ids {
		if _, ok := e.open[id]; ok {
			list = append(list, id)
		}
	}
	return list
}

// check compares results with what the engine was given. A release that nobody has asked
// for would contradict intake's table, and so end the links of all engines.
func (e *Engine) check(m *messages.StepResults) error {
	if m.Seq != e.seq+1 {
		return fmt.Errorf("results %d came after results %d", m.Seq, e.seq)
	}
	e.seq = m.Seq
	for _, id := range m.Admitted {
		if _, ok := e.open[id]; !ok {
			return fmt.Errorf("request %d was admitted, which the engine does not have", id)
		}
	}
	for i := range m.Prompts {
		if _, ok := e.open[m.Prompts[i].ID]; !ok {
			return fmt.Errorf("the prompt of request %d was computed, which the engine does not have", m.Prompts[i].ID)
		}
	}
	for i := range m.Tokens {
		t := &m.Tokens[i]
		r, ok := e.open[t.ID]
		if !ok || t.Position != r.next {
			return fmt.Errorf("request %d got the token at position %d instead of %d (the engine has it: %t)", t.ID, t.Position, r.next, ok)
		}
		r.next++
		e.open[t.ID] = r
	}
	for _, end := range m.Ended {
		switch r, ok := e.open[end.ID]; {
		case !ok:
			return fmt.Errorf("request %d ended (%s), which the engine does not have", end.ID, end.Reason)
		case end.Reason == messages.EndCancelled && !r.release:
			return fmt.Errorf("request %d was released, but this gateway has not asked for it", end.ID)
		}
		delete(e.open, end.ID)
		delete(e.scores, end.ID)
	}
	return nil
}
