// Package observer is the actor that streams changes of the prefix cache to
// readers outside of the engine. It numbers the events, keeps the latest of them,
// and passes them on. It is not part of an epoch, and an engine may have none.
//
//	Receives: CacheChanged (cache); EpochStarted (engine); SubscribeEvents, DropSubscription (client)
//	Sends:    EventsSubscribed and events (client, on its channels)
//	State:    the ring of the latest events; the readers' channels
//	Invariants: applying every event from the first on gives exactly what is cached;
//	          sequence numbers have no gap; the ring keeps a bounded number of hashes
//	On failure: restarted. Its readers' channels are closed and the message in hand
//	          is lost, which shows in the next event's number; the stream goes on
//	          with an event that clears everything.
package observer

import (
	"cmp"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
)

// Options configure an observer.
type Options struct {
	// Keep is how many page hashes of past events are kept for readers that
	// come back, 8 bytes each; a soft bound: the newest event is always kept.
	// Zero means DefaultKeep.
	Keep int
	// Readers is how many may read at once, hard. Zero means 64.
	Readers int
	// Stream names the life of the process; random.
	Stream uint64
}

// DefaultKeep takes 2 MiB.
const DefaultKeep = 1 << 18

func (o Options) withDefaults() Options {
	o.Keep, o.Readers = cmp.Or(o.Keep, DefaultKeep), cmp.Or(o.Readers, 64)
	return o
}

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

// Receive implements actor.Actor.
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
	// unsure says that something may have been lost: the next event clears.
	unsure bool
}

func newCore(opt Options) *core {
	opt = opt.withDefaults()
	return &core{opt: opt, engines: map[messages.EngineID]*observed{}, ring: ring{keep: opt.Keep}, readers: map[messages.Subscription]chan<- messages.ObservedEvent{}}
}

// Handle implements shell.Core.
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

// enter begins an epoch of an engine, whose cache is empty, if it is a new one.
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

// changed takes what a cache tells. After a gap nothing is known, so the stream
// clears: its readers then know of less than there is, never of more.
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

// publish numbers an event, keeps it and passes it on. The tokens and the
// namespace stay here: the hashes name the pages, and a cache salt is a secret.
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

// subscribe answers with what is kept and begins to pass on.
func (c *core) subscribe(m *messages.SubscribeEvents) {
	reply := &messages.EventsSubscribed{Stream: c.opt.Stream, Last: c.ring.last}
	switch {
	case c.readers[m.ID] != nil:
		reply.Refused = "the subscription exists already"
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
	default: // the asker broke the contract
	}
}

// drop ends a subscription; an unknown one matches nothing.
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

// forget follows a panic. Readers have to come back, and since what was in hand
// is lost, the stream goes on with an event that clears all.
func (c *core) forget() {
	c.dropAll()
	for _, e := range c.engines {
		e.unsure = true
	}
}
