package link

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

// maxCause bounds the cause of a goodbye in bytes.
const maxCause = 4 << 10

// channel is what both ends of a link do.
type channel struct {
	opt   Options
	begun bool
	over  bool
	why   string        // the cause of the end
	heard time.Duration // when the last frame came

	sent    uint64   // frames
	unread  []uint32 // bytes of the frames that the peer has not handled, oldest first
	pending int      // bytes of them
	pieces  cutter
	largest int // bytes of what one sendBulk has added, at most

	got      uint64 // frames
	owed     int    // bytes handled since the last heartbeat
	incoming joiner

	report messages.EngineReported // for the heartbeats of an engine
}

// Over reports whether the link has ended.
func (c *channel) Over() bool { return c.over }

// Cause says why the link is over, or "".
func (c *channel) Cause() string { return c.why }

// ended is what a link tells its own node at its end.
type ended struct {
	cause      string
	noSuspects bool // as in EngineLeft
}

// begin starts the heartbeats with the first message. If that is a HeartbeatDue, it does so
// itself: a second timer would double them for ever.
func (c *channel) begin(now time.Duration, first messages.ToLink, out *messages.Outbox) {
	c.begun, c.heard = true, now
	if _, due := first.(*messages.HeartbeatDue); !due {
		c.beat(out)
	}
}

// beat sends a heartbeat and starts the timer for the next one.
func (c *channel) beat(out *messages.Outbox) {
	c.acknowledge(out)
	out.After(c.opt.Heartbeat, &messages.HeartbeatDue{})
}

// acknowledge tells the peer what was handled.
func (c *channel) acknowledge(out *messages.Outbox) {
	c.owed = 0
	h := &wire.Heartbeat{Handled: c.got, Speed: c.report.Speed, Gateways: uint32(c.report.Gateways)}
	if l := c.report.Others; l != (messages.EngineLoad{}) {
		h.Others = &wire.Load{Waiting: uint64(l.Waiting), WaitingTokens: uint64(l.WaitingTokens), Running: uint64(l.Running), RunningTokens: uint64(l.RunningTokens)}
	}
	c.put(&wire.Frame{Body: &wire.Frame_Heartbeat{Heartbeat: h}}, out)
}

// put sends a frame now.
func (c *channel) put(f *wire.Frame, out *messages.Outbox) {
	c.sent++
	f.Seq = c.sent
	n := uint32(proto.Size(f))
	c.unread, c.pending = append(c.unread, n), c.pending+int(n)
	out.ToPeer(f)
}

// send sends a frame, which may overtake pieces. An error ends the link.
func (c *channel) send(f *wire.Frame, out *messages.Outbox) error {
	if err := c.keepsUp(); err != nil {
		return err
	}
	c.put(f, out)
	return nil
}

// keepsUp is an error if too much waits for the peer. All requests of a gateway may come at
// once, for the first engine after all were lost; so the limit is above them.
func (c *channel) keepsUp() error {
	if wait := c.pending + c.pieces.bytes; wait > c.opt.Backlog+c.largest {
		return fmt.Errorf("the peer does not keep up: %d bytes wait for it", wait)
	}
	return nil
}

// sendBulk sends large messages, after those before them, as the window allows.
func (c *channel) sendBulk(out *messages.Outbox, list ...*wire.Bulk) error {
	if err := c.keepsUp(); err != nil {
		return err
	}
	before := c.pieces.bytes
	for _, b := range list {
		if err := c.pieces.add(b); err != nil {
			return err
		}
	}
	c.largest = max(c.largest, c.pieces.bytes-before)
	c.pump(out)
	return nil
}

// pump sends pieces while the window has room.
func (c *channel) pump(out *messages.Outbox) {
	for c.pending < c.opt.Window {
		p := c.pieces.next()
		if p == nil {
			return
		}
		c.put(&wire.Frame{Body: &wire.Frame_Piece{Piece: p}}, out)
	}
}

// receive handles what a frame says of the link. It returns the message that the frame or
// its piece completes, if any; how the peer has ended the link; or why the link is over.
func (c *channel) receive(now time.Duration, f *wire.Frame, out *messages.Outbox) (bulk *wire.Bulk, end *ended, err error) {
	if f.Seq != c.got+1 {
		return nil, nil, fmt.Errorf("frame %d came after frame %d", f.Seq, c.got)
	}
	c.got, c.heard = f.Seq, now
	c.owed += proto.Size(f)
	switch b := f.Body.(type) {
	case *wire.Frame_Heartbeat:
		err = c.handled(b.Heartbeat, out)
	case *wire.Frame_Goodbye:
		end = &ended{cause: b.Goodbye.GetCause(), noSuspects: true}
	case *wire.Frame_Piece:
		bulk, err = c.incoming.add(b.Piece)
	}
	if c.owed >= c.opt.Window/4 && err == nil && end == nil {
		c.acknowledge(out)
	}
	return bulk, end, err
}

// handled records how far the peer is.
func (c *channel) handled(h *wire.Heartbeat, out *messages.Outbox) error {
	first := c.sent - uint64(len(c.unread)) // the newest that was handled before
	if h.GetHandled() < first || h.GetHandled() > c.sent {
		return fmt.Errorf("the peer says that it has handled frame %d of %d, after %d", h.GetHandled(), c.sent, first)
	}
	for range h.GetHandled() - first {
		c.pending -= int(c.unread[0])
		c.unread = c.unread[1:]
	}
	c.pump(out)
	return nil
}

// tick is due with every heartbeat. It returns why the link is over, if it is. A peer that is
// silent has not died of a request: the connection of a dead process ends. It may be frozen
// or cut off, or this process was.
func (c *channel) tick(now time.Duration, out *messages.Outbox) *ended {
	if silence := now - c.heard; silence > c.opt.Timeout {
		end := &ended{cause: fmt.Sprintf("nothing was heard from the peer for %v", silence.Round(time.Millisecond)), noSuspects: true}
		c.goodbye(end.cause, out)
		return end
	}
	c.beat(out)
	return nil
}

// goodbye tells the peer that the link ends.
func (c *channel) goodbye(cause string, out *messages.Outbox) {
	c.put(&wire.Frame{Body: &wire.Frame_Goodbye{Goodbye: &wire.Goodbye{Cause: wire.Clip(cause, maxCause)}}}, out)
}
