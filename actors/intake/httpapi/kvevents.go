package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// readerEvents is how many events may wait for a reader; more end its subscription.
const readerEvents = 256

// lastSubscription numbers the subscriptions of the process.
var lastSubscription atomic.Uint64

// gapEvent reports missing events. What the reader knows of the cache is void.
type gapEvent struct {
	After  uint64 `json:"after"` // the last event before the gap
	Reason string `json:"reason"`
}

// cacheEvent is an ObservedEvent. Hashes are hexadecimal: JSON readers round 64 bits.
type cacheEvent struct {
	Seq    uint64   `json:"seq"`
	Engine uint16   `json:"engine,omitempty"` // 0 is left out
	Epoch  uint32   `json:"epoch"`
	Hashes []string `json:"hashes,omitempty"`
	Parent *string  `json:"parent,omitempty"`
}

// kvEvents streams what enters and leaves the prefix cache, until the client
// disconnects or does not keep up, its key loses the right, or the server drains.
func (s *Server) kvEvents(w http.ResponseWriter, r *http.Request) *apiError {
	served, err := s.reach(s.modelIn(r.URL.Query()))
	if err != nil {
		return err
	}
	if served.Observe == nil {
		return newError(http.StatusNotFound).coded("kv_events_off").
			say("KV events are off; start the server with kv-events")
	}
	subscribe, err := s.subscription(r)
	if err != nil {
		return err
	}
	id := messages.Subscription(lastSubscription.Add(1))
	events, reply := make(chan messages.ObservedEvent, readerEvents), make(chan *messages.EventsSubscribed, 1)
	subscribe.ID, subscribe.Events, subscribe.Reply = id, events, reply
	stream := kvStream{sse: newSSE(w), events: events, last: subscribe.After}
	served.Observe(subscribe)
	defer served.Observe(&messages.DropSubscription{ID: id})
	select {
	case a := <-reply:
		if a.Refused != "" {
			return newError(http.StatusTooManyRequests).coded("too_many_readers").retry(1).say("%s", own(a.Refused))
		}
		if err = stream.begin(a); err != nil {
			return err
		}
	case <-s.serving.Done():
		return shuttingDown()
	case <-r.Context().Done():
		return clientGone(r.Context(), nil)
	}
	return s.follow(r, &stream)
}

// subscription reads where a stream begins: after the event in ?after= or in the
// header that an EventSource sends when it reconnects, or from now on.
func (s *Server) subscription(r *http.Request) (*messages.SubscribeEvents, *apiError) {
	query := r.URL.Query()
	if err := s.checkQuery(query, "after"); err != nil {
		return nil, err
	}
	text := cmp.Or(query.Get("after"), r.Header.Get("Last-Event-ID"))
	after, err := strconv.ParseUint(cmp.Or(text, "0"), 10, 64)
	if err != nil {
		return nil, invalid("after", `"after" is %q; it must be the number of an event, or 0 for all events that are kept`, clip(text, 64))
	}
	return &messages.SubscribeEvents{After: after, FromNow: text == ""}, nil
}

// follow writes events until the stream ends.
func (s *Server) follow(r *http.Request, stream *kvStream) *apiError {
	alive, right := time.NewTicker(s.rules.Load().KeepAlive), time.NewTicker(rightsPeriod)
	defer alive.Stop()
	defer right.Stop()
	for {
		if err := stream.flush(); err != nil {
			return err
		}
		select {
		case event, open := <-stream.events:
			if !stream.gather(event, open) {
				return stream.flush()
			}
		case <-right.C:
			if err := s.mayRead(r); err != nil {
				return stream.fail(err)
			}
		case <-alive.C:
			stream.buf.WriteString(": alive\n\n")
		case <-s.serving.Done():
			return nil
		case <-r.Context().Done():
			return clientGone(r.Context(), nil)
		}
	}
}

// kvStream is one reader.
type kvStream struct {
	*sse
	events <-chan messages.ObservedEvent
	last   uint64 // number of the newest event written
}

// begin writes the first events of the stream and flushes a long replay in parts.
func (k *kvStream) begin(a *messages.EventsSubscribed) *apiError {
	k.write("open", 0, struct {
		Stream string `json:"stream"` // changes when the server restarts
		Last   uint64 `json:"last"`   // number of the newest event
	}{fmt.Sprintf("%016x", a.Stream), a.Last})
	if a.Missed {
		k.write("gap", 0, gapEvent{k.last, "the events after this number are missing: they are no longer kept, or the number is not from this run of the server; discard what you know of the cache and continue with the events that follow"})
	}
	for i := range a.Replay {
		k.event(&a.Replay[i])
		if k.buf.Len() >= flushBytes {
			if err := k.flush(); err != nil {
				return err
			}
		}
	}
	k.last = a.Last
	return nil
}

// gather adds the events that wait. It reports whether the subscription goes on.
func (k *kvStream) gather(event messages.ObservedEvent, open bool) bool {
	for open {
		k.event(&event)
		if k.buf.Len() >= flushBytes {
			return true
		}
		select {
		case event, open = <-k.events:
		default:
			return true
		}
	}
	k.write("gap", 0, gapEvent{k.last, `the stream ended, because it was read too slowly or the server restarted it; subscribe again with "after" set to the number of this event`})
	return false
}

func (k *kvStream) event(e *messages.ObservedEvent) {
	out := cacheEvent{Seq: e.Seq, Engine: uint16(e.Engine), Epoch: uint32(e.Epoch), Hashes: make([]string, len(e.Hashes))}
	for i, hash := range e.Hashes {
		out.Hashes[i] = fmt.Sprintf("%016x", hash)
	}
	if e.HasParent {
		out.Parent = new(fmt.Sprintf("%016x", e.Parent))
	}
	k.write(string(e.Kind), e.Seq, out)
	k.last = e.Seq
}

// write adds one event; only those of the cache have a number.
func (k *kvStream) write(name string, seq uint64, v any) {
	if seq > 0 {
		fmt.Fprintf(&k.buf, "id: %d\n", seq)
	}
	fmt.Fprintf(&k.buf, "event: %s\n", name)
	k.add(v)
}
