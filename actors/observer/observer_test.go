package observer

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
)

// reader applies events, as a client does.
type reader struct {
	id     messages.Subscription
	events chan messages.ObservedEvent
	cached map[uint64]bool
	last   uint64
	missed bool // lacks pages that are cached
}

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func (r *reader) apply(t failer, e messages.ObservedEvent) {
	if e.Seq != r.last+1 {
		t.Fatalf("event %d follows event %d", e.Seq, r.last)
	}
	r.last = e.Seq
	switch e.Kind {
	case messages.PagesCleared:
		clear(r.cached)
		r.missed = false
	case messages.PagesStored:
		for _, h := range e.Hashes {
			r.cached[h] = true
		}
	case messages.PagesRemoved:
		for _, h := range e.Hashes {
			delete(r.cached, h)
		}
	}
}

// subscribe comes back after the last event that the reader has.
func (r *reader) subscribe(t failer, c *core, id messages.Subscription, room int) {
	t.Helper()
	r.id, r.events = id, make(chan messages.ObservedEvent, room)
	reply := make(chan *messages.EventsSubscribed, 1)
	c.Handle(0, &messages.SubscribeEvents{ID: id, After: r.last, Events: r.events, Reply: reply}, &messages.Outbox{})
	a := <-reply
	if a.Refused != "" {
		t.Fatal(a.Refused)
	}
	if a.Missed {
		clear(r.cached)
		r.missed = true
		r.last = a.Last - uint64(len(a.Replay))
	}
	for _, e := range a.Replay {
		r.apply(t, e)
	}
}

// read applies the waiting events; it reports whether the subscription is open.
func (r *reader) read(t failer) bool {
	for {
		select {
		case e, open := <-r.events:
			if !open {
				return false
			}
			r.apply(t, e)
		default:
			return true
		}
	}
}

// world is a radix tree that reports its changes to a core.
type world struct {
	tree  *radix.Tree
	epoch messages.Epoch
	seq   uint64
	known [][]int32 // sequences that were inserted
	page  messages.Page
}

func (w *world) restart() {
	w.epoch++
	w.seq, w.known, w.page = 0, nil, 1
	w.tree = radix.NewTree(radix.TreeOptions{PageSize: 2, Events: true})
}

func (w *world) insert(tokens []int32) {
	pages := make([]messages.Page, len(tokens)/2)
	for i := range pages {
		pages[i] = w.page
		w.page++
	}
	w.tree.Insert(messages.PrefixInsert{Tokens: tokens, Pages: pages}, nil)
	w.known = append(w.known, tokens)
}

// tell sends what changed; lost says that the message does not arrive.
func (w *world) tell(c *core, lost bool) {
	events := w.tree.TakeEvents()
	if len(events) == 0 {
		return
	}
	w.seq++
	if !lost {
		c.Handle(0, &messages.CacheChanged{Header: messages.Header{Epoch: w.epoch}, Seq: w.seq, Events: events}, &messages.Outbox{})
	}
}

// cached asks the tree itself.
func (w *world) cached() map[uint64]bool {
	all := map[uint64]bool{}
	for _, tokens := range w.known {
		hash := radix.RootHash("")
		for at := 0; at < w.tree.Peek("", tokens); at += 2 {
			hash = radix.PageHash(hash, tokens[at:at+2])
			all[hash] = true
		}
	}
	return all
}

// A reader that applies the events has exactly what is cached, however slow it is,
// however often it reconnects, and whatever happens to the engine. After a gap that was
// reported to it, it has nothing that is not cached.
func TestEventsGiveWhatIsCached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCore(Options{Keep: rapid.IntRange(1, 60).Draw(t, "keep")})
		w := &world{}
		w.restart()
		readers := []*reader{{cached: map[uint64]bool{}}, {cached: map[uint64]bool{}}}
		id, lossy := messages.Subscription(0), false
		for range rapid.IntRange(1, 60).Draw(t, "operations") {
			switch rapid.SampledFrom([]string{"insert", "insert", "insert", "evict", "flush", "restart", "lose", "panic", "read", "come", "leave"}).Draw(t, "op") {
			case "insert":
				w.insert(rapid.SliceOfN(rapid.Int32Range(0, 2), 6, 6).Draw(t, "tokens"))
				w.tell(c, false)
			case "evict":
				if n := min(w.tree.Evictable(), rapid.IntRange(1, 4).Draw(t, "pages")); n > 0 {
					w.tree.Evict(n, nil)
				}
				w.tell(c, false)
			case "flush":
				w.tree.EvictAll(nil)
				w.tell(c, false)
			case "restart":
				w.restart()
				lossy = false
				if rapid.Bool().Draw(t, "told") {
					c.Handle(0, &messages.EpochStarted{Header: messages.Header{Epoch: w.epoch}}, &messages.Outbox{})
				}
			case "lose":
				w.insert([]int32{9, 9, int32(len(w.known)), 0})
				w.tell(c, true)
				lossy = true
			case "panic":
				c.forget()
				lossy = true
			case "read":
				for _, r := range readers {
					if r.events != nil && !r.read(t) {
						r.events = nil
					}
				}
			case "come":
				for _, r := range readers {
					if r.events == nil {
						id++
						r.subscribe(t, c, id, rapid.IntRange(1, 3).Draw(t, "room"))
					}
				}
			case "leave":
				c.Handle(0, &messages.DropSubscription{ID: readers[0].id}, &messages.Outbox{})
			}
		}
		if e := c.engines[0]; e == nil || w.epoch != e.header.Epoch {
			c.Handle(0, &messages.EpochStarted{Header: messages.Header{Epoch: w.epoch}}, &messages.Outbox{})
		}
		truth := w.cached()
		for i, r := range readers {
			if r.events == nil || !r.read(t) {
				id++
				r.subscribe(t, c, id, 1)
			}
			for h := range r.cached {
				if !truth[h] && !lossy {
					t.Fatalf("reader %d believes in page %x, which is not cached", i, h)
				}
			}
			if !r.missed && !lossy && !maps.Equal(r.cached, truth) {
				t.Fatalf("reader %d has %d pages, %d are cached", i, len(r.cached), len(truth))
			}
		}
	})
}

func TestAGapInTheCachesNumbersClears(t *testing.T) {
	c := newCore(Options{})
	r := &reader{cached: map[uint64]bool{}}
	r.subscribe(t, c, 1, 10)
	store := func(seq, hash uint64) {
		c.Handle(0, &messages.CacheChanged{Header: messages.Header{Epoch: 1}, Seq: seq, Events: []messages.CacheEvent{{Kind: messages.PagesStored, Hashes: []uint64{hash}}}}, &messages.Outbox{})
	}
	store(1, 10)
	store(3, 30)
	store(3, 40) // again: ignored
	r.read(t)
	if fmt.Sprint(r.cached) != "map[30:true]" || r.last != 4 {
		t.Errorf("after a gap the reader has %v at event %d", r.cached, r.last)
	}
}

func TestASlowReaderLosesItsSubscriptionAndNobodyElse(t *testing.T) {
	c := newCore(Options{})
	slow, quick := &reader{cached: map[uint64]bool{}}, &reader{cached: map[uint64]bool{}}
	slow.subscribe(t, c, 1, 2)
	quick.subscribe(t, c, 2, 2)
	var out messages.Outbox
	for epoch := messages.Epoch(1); epoch <= 3; epoch++ {
		c.Handle(0, &messages.EpochStarted{Header: messages.Header{Epoch: epoch}}, &out)
		if !quick.read(t) {
			t.Fatal("the quick reader was cut off")
		}
	}
	if slow.read(t) || slow.last != 2 {
		t.Errorf("the slow reader is at event %d", slow.last)
	}
	if len(c.readers) != 1 {
		t.Errorf("%d readers are left", len(c.readers))
	}
	slow.subscribe(t, c, 3, 2)
	if slow.last != 3 {
		t.Errorf("after coming back the slow reader has event %d", slow.last)
	}
	c.dropAll()
	if quick.read(t) || len(c.readers) != 0 {
		t.Error("a stopped observer still has readers")
	}
}

func TestReadersAreBounded(t *testing.T) {
	c := newCore(Options{Readers: 1})
	for i, refused := range []bool{false, true, true} {
		reply := make(chan *messages.EventsSubscribed, 1)
		c.Handle(0, &messages.SubscribeEvents{ID: messages.Subscription(1 + i/2), Events: make(chan messages.ObservedEvent, 1), Reply: reply}, &messages.Outbox{})
		if a := <-reply; (a.Refused != "") != refused {
			t.Errorf("subscription %d: %q", i, a.Refused)
		}
	}
}

func TestRingKeepsABound(t *testing.T) {
	r := ring{keep: 10}
	for i := range 100 {
		r.add(messages.ObservedEvent{Hashes: make([]uint64, i%4)})
		if r.held > 10 || len(r.events) > 2*11 {
			t.Fatalf("%d hashes in %d events are kept", r.held, len(r.events))
		}
	}
	if _, missed := r.after(50); !missed {
		t.Error("an event that is gone was not missed")
	}
	if _, missed := r.after(101); !missed {
		t.Error("an event of another stream was not missed")
	}
	if events, missed := r.after(98); missed || len(events) != 2 || events[1].Seq != 100 {
		t.Errorf("after 98: %v", events)
	}
	r.add(messages.ObservedEvent{Hashes: make([]uint64, 50)})
	if events, _ := r.after(100); len(events) != 1 {
		t.Error("an event bigger than the ring is not kept")
	}
}

// What publishing costs by the number of readers.
func BenchmarkPublish(b *testing.B) {
	for _, readers := range []int{0, 1, 64} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			c := newCore(Options{})
			for i := range readers {
				events := make(chan messages.ObservedEvent, 256)
				c.readers[messages.Subscription(i+1)] = events
				go func() {
					for range events {
					}
				}()
			}
			m := messages.CacheEvent{Kind: messages.PagesStored, Hashes: make([]uint64, 128)}
			var out messages.Outbox
			for b.Loop() {
				c.publish(messages.Header{}, m, &out)
				out.Reset()
			}
			c.dropAll()
		})
	}
}

// Each engine has a cache of its own: what clears one says nothing of another.
func TestEnginesAreApart(t *testing.T) {
	c := newCore(Options{})
	events := make(chan messages.ObservedEvent, 100)
	reply := make(chan *messages.EventsSubscribed, 1)
	step := func(m messages.ToObserver) { c.Handle(0, m, &messages.Outbox{}) }
	step(&messages.SubscribeEvents{ID: 1, FromNow: true, Events: events, Reply: reply})
	h := func(engine messages.EngineID, epoch messages.Epoch) messages.Header {
		return messages.Header{Engine: engine, Epoch: epoch}
	}
	stored := []messages.CacheEvent{{Kind: messages.PagesStored, Hashes: []uint64{7}}}
	step(&messages.EpochStarted{Header: h(0, 3)})
	step(&messages.EpochStarted{Header: h(1, 1)})
	step(&messages.CacheChanged{Header: h(0, 3), Seq: 1, Events: stored})
	step(&messages.CacheChanged{Header: h(1, 1), Seq: 1, Events: stored})
	step(&messages.EpochStarted{Header: h(1, 2)})
	step(&messages.CacheChanged{Header: h(1, 1), Seq: 2, Events: stored}) // too late
	step(&messages.CacheChanged{Header: h(0, 3), Seq: 2, Events: stored})
	want := []messages.ObservedEvent{
		{Header: h(0, 3), Kind: messages.PagesCleared}, {Header: h(1, 1), Kind: messages.PagesCleared},
		{Header: h(0, 3), Kind: messages.PagesStored}, {Header: h(1, 1), Kind: messages.PagesStored},
		{Header: h(1, 2), Kind: messages.PagesCleared}, {Header: h(0, 3), Kind: messages.PagesStored},
	}
	for i, w := range want {
		if e := <-events; e.Header != w.Header || e.Kind != w.Kind || e.Seq != uint64(i+1) {
			t.Errorf("event %d is %+v, want %+v", i+1, e, w)
		}
	}
	if len(events) > 0 {
		t.Errorf("%d more events came", len(events))
	}
}
