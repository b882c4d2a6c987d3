package link

import (
	"cmp"
	"time"

	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

type Options struct {
	// Slot is the number of the peer among those of this node. No other link has it.
	Slot messages.EngineID
	// Epoch is the newest epoch of earlier links of this slot. For the gateway's end.
	Epoch messages.Epoch
	// Facts are the engine's, from its hello. For the gateway's end.
	Facts messages.EngineFacts
	// Limits bound what the peer may send.
	Limits wire.Limits
	// Heartbeat is the time between two heartbeats; 0 means 250ms.
	Heartbeat time.Duration
	// Timeout is the silence after which a link is over (cluster-peer-timeout). It must be set.
	Timeout time.Duration
	// Window is how many bytes of pieces may be on their way; 0 means 1 MiB.
	Window int
	// Backlog is how many bytes may wait for the peer, besides as many as the largest message
	// has, hard; 0 means 256 MiB.
	Backlog int
}

func (o Options) withDefaults() Options {
	o.Heartbeat = cmp.Or(o.Heartbeat, 250*time.Millisecond)
	o.Window = cmp.Or(o.Window, 1<<20)
	o.Backlog = cmp.Or(o.Backlog, 256<<20)
	return o
}
