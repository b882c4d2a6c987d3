package link

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// Gateway is the engine's end of a link. To the portal it plays the gateway at the other
// end, and checks its requests, so that wrong ones end this link only.
//
// Invariants:
//
//  1. open has exactly the requests that the portal was given in its epoch for this gateway
//     and has not released.
//  2. Nothing is sent after the end, to either side.
type Gateway struct {
	channel
	header  messages.Header // of the portal's epoch for this gateway
	up      bool
	open    map[messages.RequestID]struct{}
	results outgoing
}

// NewGateway returns the engine's end of a new link.
func NewGateway(opt Options) *Gateway {
	return &Gateway{channel: channel{opt: opt.withDefaults()}, open: map[messages.RequestID]struct{}{}}
}

// Up reports whether the engine has told the gateway that it accepts requests.
func (g *Gateway) Up() bool { return g.up }

func (g *Gateway) Handle(now time.Duration, msg messages.ToLink, out *messages.Outbox) {
	if g.over {
		out.Record(messages.StaleMessages, 1)
		return
	}
	if !g.begun {
		switch msg.(type) {
		case *messages.FrameReceived, *messages.HeartbeatDue, *messages.LinkBroken, *messages.EndLink:
		default: // the portal sends it to the last link of this slot, whose end it has not handled yet
			out.Record(messages.StaleMessages, 1)
			return
		}
		out.ToPortal(&messages.GatewayJoined{Gateway: g.opt.Slot})
		g.begin(now, msg, out)
	}
	end, err := g.handle(now, msg, out)
	if end == nil && err == nil {
		err = g.results.flush(&g.channel, out)
	}
	if err != nil {
		end = &ended{cause: err.Error()}
		g.goodbye(end.cause, out)
	}
	if end != nil {
		g.over, g.up, g.why = true, false, end.cause
		clear(g.open)
		out.ToPortal(&messages.GatewayLeft{Gateway: g.opt.Slot})
	}
}

func (g *Gateway) handle(now time.Duration, msg messages.ToLink, out *messages.Outbox) (*ended, error) {
	switch m := msg.(type) {
	case *messages.HeartbeatDue:
		return g.tick(now, out), nil
	case *messages.FrameReceived:
		return g.frame(now, m.Frame.(*wire.Frame), out)
	case *messages.LinkBroken:
		return &ended{cause: m.Cause}, nil
	case *messages.EndLink:
		g.goodbye(m.Cause, out)
		return &ended{cause: m.Cause, noSuspects: true}, nil
	case *messages.EngineReported:
		g.report = *m
		return nil, nil
	case *messages.EpochStarted:
		g.header, g.up, g.results = m.Header, true, outgoing{}
		return nil, g.send(wire.EncodeEpochStarted(m), out)
	}
	if !g.up || messages.HeaderOf(msg) != g.header {
		out.Record(messages.StaleMessages, 1)
		return nil, nil
	}
	switch m := msg.(type) {
	case *messages.EpochEnded:
		own := *m
		if m.Requests == nil {
			g.up, g.results = false, outgoing{}
			clear(g.open)
		} else {
			own.Seq = g.results.number(m.Seq)
			g.results.lost(m.Requests)
		}
		for _, id := range m.Requests {
			delete(g.open, id)
		}
		return nil, g.send(wire.EncodeEpochEnded(&own), out)
	case *messages.StepResults:
		for i := range m.Ended {
			delete(g.open, m.Ended[i].ID)
		}
		return nil, g.results.send(m, &g.channel, out)
	case *messages.CacheFlushed:
		return nil, g.send(wire.EncodeCacheFlushed(m), out)
	case *messages.FlushRefused:
		return nil, g.send(wire.EncodeFlushRefused(m), out)
	case *messages.SlotsAudited:
		if m.Snapshots == nil {
			return nil, g.send(wire.EncodeSlotsAudited(m), out)
		}
		b, err := wire.EncodeSnapshot(m)
		if err != nil {
			return nil, err
		}
		return nil, g.sendBulk(out, b)
	case *messages.CacheDescribed:
		b, err := wire.EncodeCacheDescribed(m)
		if err != nil {
			return nil, err
		}
		return nil, g.sendBulk(out, b)
	case *messages.CacheChanged:
		return nil, g.sendBulk(out, wire.EncodeCacheChanged(m))
	}
	invariants.Fail("the engine's end of a link got a %T", msg)
	return nil, nil
}

// frame handles a frame of the gateway.
func (g *Gateway) frame(now time.Duration, f *wire.Frame, out *messages.Outbox) (*ended, error) {
	bulk, end, err := g.receive(now, f, out)
	if err != nil || end != nil {
		return end, err
	}
	var m messages.ToPortal
	switch f.Body.(type) {
	case *wire.Frame_Heartbeat:
		return nil, nil
	case *wire.Frame_Piece:
		if bulk == nil {
			return nil, nil
		}
		m, err = wire.DecodeDownBulk(bulk, g.opt.Slot, now, &g.opt.Limits)
	default:
		m, err = wire.DecodeDown(f, g.opt.Slot)
	}
	if err != nil {
		return nil, err
	}
	if !g.up || messages.HeaderOf(m) != g.header {
		// Sent before the gateway knew of the end of that epoch.
		out.Record(messages.StaleMessages, 1)
		return nil, nil
	}
	if m, ok := m.(*messages.EnqueueRequests); ok {
		for _, r := range m.Requests {
			if _, twice := g.open[r.ID]; twice {
				return nil, fmt.Errorf("request %d was sent twice", r.ID)
			}
			g.open[r.ID] = struct{}{}
		}
	}
	out.ToPortal(m)
	return nil, nil
}
