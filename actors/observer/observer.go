// Package observer is the actor that streams changes of the prefix cache to
// readers outside the engine. It numbers the events, keeps the latest of them,
// and passes them on. It is not part of an epoch, and an engine may have none.
//
//	Receives: CacheChanged (cache, dispatch): what was stored and evicted;
//	          EpochStarted (supervisor): an engine's cache is empty; from each supervisor, never through dispatch;
//	          SubscribeEvents, DropSubscription (client): readers come and go
//	Sends:    EventsSubscribed (client), then ObservedEvent values: on channels of the reader
//	State:    the ring of the latest events; the readers' channels
//	Invariants: all events from the first on, applied, are exactly what is cached;
//	          sequence numbers have no gap; the ring keeps a bounded number of hashes
//	On failure: restarted. The readers' channels are closed and the current message
//	          is lost; the stream goes on with an event that clears everything.
package observer

import (
	"cmp"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
)

type Options struct {
	// Keep is how many page hashes of past events are kept for readers that reconnect, 8
	// bytes each; a soft limit: the newest event is always kept. Zero means DefaultKeep.
	Keep    int
	Readers int    // that may read at once, a hard limit. Zero means 64
	Stream  uint64 // identifies the process; random
}

// DefaultKeep is 2 MiB.
const DefaultKeep = 1 << 18

// Props makes the actor. Its state outlives its incarnations.
func Props(opt shell.Options, observer Options, more ...actor.PropsOption) *actor.Props {
	c := newCore(observer)
	opt.OnPanic = func(actor.Context, any, *messages.FailEpoch) { c.forget() }
	return actor.PropsFromProducer(func() actor.Actor {
		return &incarnation{core: c, Actor: shell.New[messages.ToObserver](opt, c)}
	}, more...)
}

type incarnation struct {
	*shell.Actor[messages.ToObserver]
	core *core
}

func (i *incarnation) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Stopped); ok {
		i.core.dropAll()
	}
	i.Actor.Receive(ctx)
}

// core is the observer's state and rules.
type core struct {
	opt     Options
	engines map[messages.EngineID]*observed
	ring    ring
	readers map[messages.Subscription]chan<- messages.ObservedEvent
}

// observed is one engine's cache.
type observed struct {
	header  messages.Header // of the newest epoch
	changes uint64          // of the last CacheChanged in the epoch
	unsure  bool            // something may have been lost, so the next event must clear
}

func newCore(opt Options) *core {
	opt.Keep, opt.Readers = cmp.Or(opt.Keep, DefaultKeep), cmp.Or(opt.Readers, 64)
	return &core{opt: opt, engines: map[messages.EngineID]*observed{}, ring: ring{keep: opt.Keep}, readers: map[messages.Subscription]chan<- messages.ObservedEvent{}}
}

func (c *core) Handle(_ time.Duration, msg messages.ToObserver, out *messages.Outbox) {
	switch m := msg.(type) {
	case *messages.EpochStarted:
		c.enter(m.Header, out)
	case *messages.CacheChanged:
		c.changed(m, out)
	case *messages.SubscribeEvents:
		c.subscribe(m)
	case *messages.DropSubscription:
		c.drop(m.ID)
	}
}

// enter begins an epoch of an engine, with an empty cache, if it is a new one.
func (c *core) enter(h messages.Header, out *messages.Outbox) *observed {
	e := c.engines[h.Engine]
	if e == nil {
		e = &observed{}
		c.engines[h.Engine] = e
	}
	if h.Epoch > e.header.Epoch {
		*e = observed{header: h}
		c.publish(h, messages.CacheEvent{Kind: messages.PagesCleared}, out)
	}
	return e
}

// changed publishes what has changed in a cache. After a gap the stream clears: then
// its readers assume that too little is cached, never too much.
func (c *core) changed(m *messages.CacheChanged, out *messages.Outbox) {
	e := c.enter(m.Header, out)
	if m.Header != e.header || m.Seq <= e.changes {
		out.Record(messages.StaleMessages, 1)
		return
	}
	if m.Seq != e.changes+1 || e.unsure {
		e.unsure = false
		c.publish(m.Header, messages.CacheEvent{Kind: messages.PagesCleared}, out)
	}
	e.changes = m.Seq
	for i := range m.Events {
		c.publish(m.Header, m.Events[i], out)
	}
}

// publish numbers an event, keeps it and sends it to the readers. It leaves out the
// tokens and the namespace: hashes identify the pages, and a cache salt is a secret.
func (c *core) publish(h messages.Header, e messages.CacheEvent, out *messages.Outbox) {
	event := c.ring.add(messages.ObservedEvent{Header: h, Kind: e.Kind, Hashes: e.Hashes, Parent: e.Parent, HasParent: e.HasParent})
	out.Record(messages.KVEvents, 1)
	for id, events := range c.readers {
		select {
		case events <- event:
		default:
			out.Record(messages.KVEventGaps, 1)
			c.drop(id)
		}
	}
}

// subscribe replies with the events that are kept and adds the reader.
func (c *core) subscribe(m *messages.SubscribeEvents) {
	reply := &messages.EventsSubscribed{Stream: c.opt.Stream, Last: c.ring.last}
	switch {
	case c.readers[m.ID] != nil:
		reply.Refused = "bug in the server: this subscription to KV events already exists; please report it"
	case len(c.readers) >= c.opt.Readers:
		reply.Refused = "too many readers of KV events; close one first"
	case m.FromNow:
	default:
		reply.Replay, reply.Missed = c.ring.after(m.After)
	}
	if reply.Refused == "" {
		c.readers[m.ID] = m.Events
	}
	select {
	case m.Reply <- reply:
	default: // its capacity is at least 1 by contract
	}
}

func (c *core) drop(id messages.Subscription) {
	if events := c.readers[id]; events != nil {
		close(events)
		delete(c.readers, id)
	}
}

func (c *core) dropAll() {
	for id := range c.readers {
		c.drop(id)
	}
}

// forget handles a panic. The current message is lost, so readers must reconnect, and
// the stream goes on with an event that clears everything.
func (c *core) forget() {
	c.dropAll()
	for _, e := range c.engines {
		e.unsure = true
	}
}
