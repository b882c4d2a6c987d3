package cachereplay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/lab/trace"
)

// twin is the obvious form of the rules: a list of what is cached with the data of
// each policy, searched from end to end.
type twin struct {
	eviction string
	capacity int
	tick     int
	cached   []twinBlock
	requests [][]uint64 // the whole trace, for belady
}

type twinBlock struct {
	id                uint64
	used, born, depth int
	next              int
}

// A trace that is read twice can have grown in between if it is being recorded.
func TestBeladyRefusesATraceThatChanged(t *testing.T) {
	future := NewFuture()
	future.Add(&trace.Request{Line: 1, Blocks: []uint64{1, 2}})
	p, err := New(Options{Eviction: Belady, Capacity: 4, Future: future})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Step(&trace.Request{Line: 1, Blocks: []uint64{1, 2}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Step(&trace.Request{Line: 2, Blocks: []uint64{1}}); err == nil || !strings.Contains(err.Error(), "line 2: ") || !strings.Contains(err.Error(), "does not change") {
		t.Errorf("a request that was not there before: %v", err)
	}
}

func (w *twin) find(id uint64) int {
	return slices.IndexFunc(w.cached, func(b twinBlock) bool { return b.id == id })
}

// before reports whether a is evicted before b.
func (w *twin) before(a, b twinBlock) bool {
	switch w.eviction {
	case "lru":
		return a.used < b.used || a.used == b.used && a.depth > b.depth
	case FIFO:
		return a.born < b.born || a.born == b.born && a.depth > b.depth
	}
	return a.next > b.next || a.next == b.next && a.depth > b.depth
}

func (w *twin) access(blocks []uint64) (hits, evicted int) {
	for hits < len(blocks) && w.find(blocks[hits]) >= 0 {
		hits++
	}
	for depth, id := range blocks {
		i := w.find(id)
		if i < 0 {
			i = len(w.cached)
			w.cached = append(w.cached, twinBlock{id: id, born: w.tick, depth: depth})
		}
		w.cached[i].used = w.tick
		w.cached[i].next = never
		for at := len(w.requests) - 1; at > w.tick; at-- {
			if slices.Contains(w.requests[at], id) {
				w.cached[i].next = at
			}
		}
	}
	w.tick++
	for w.capacity > 0 && len(w.cached) > w.capacity {
		first := 0
		for i := range w.cached {
			if w.before(w.cached[i], w.cached[first]) {
				first = i
			}
		}
		w.cached = slices.Delete(w.cached, first, first+1)
		evicted++
	}
	return hits, evicted
}

// drawTrace draws requests whose block ids depend on all blocks before them, as
// those of a trace do.
func drawTrace(t *rapid.T) []*trace.Request {
	var all []*trace.Request
	branches := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(1, 2), 0, 8), 1, 40).Draw(t, "branches")
	for i, branch := range branches {
		r := &trace.Request{Line: i + 1, BlockSize: 4}
		id := uint64(1)
		for _, b := range branch {
			id = id*7 + b
			r.Blocks = append(r.Blocks, id|id<<32) // the halves differ
		}
		r.Input = len(r.Blocks)*4 + 1
		all = append(all, r)
	}
	return all
}

func TestReplayMatchesTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawTrace(t)
		future, requests := NewFuture(), [][]uint64{}
		for _, r := range all {
			future.Add(r)
			requests = append(requests, r.Blocks)
		}
		capacity := rapid.IntRange(0, 20).Draw(t, "capacity")
		for _, eviction := range []string{"lru", FIFO, Belady} {
			p, err := New(Options{Eviction: eviction, Capacity: capacity, Future: future})
			if err != nil {
				t.Fatal(err)
			}
			w := &twin{eviction: eviction, capacity: capacity, requests: requests}
			hits, evicted, blocks := 0, 0, 0
			for _, r := range all {
				if err := p.Step(r); err != nil {
					t.Fatal(err)
				}
				h, e := w.access(r.Blocks)
				hits, evicted, blocks = hits+h, evicted+e, blocks+len(r.Blocks)
			}
			if got := p.result; got.Hits != hits || got.Evicted != evicted || got.Blocks != blocks {
				t.Fatalf("%s at %d: %d hits and %d evictions, want %d and %d", eviction, capacity, got.Hits, got.Evicted, hits, evicted)
			}
		}
	})
}

// A tree cache never holds more than its capacity, whatever the policy.
func TestTreeKeepsCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawTrace(t)
		capacity := rapid.IntRange(1, 20).Draw(t, "capacity")
		for _, name := range Names() {
			if name == Belady {
				continue
			}
			c, err := newTreeCache(Options{Eviction: name, Capacity: capacity, History: 4})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				if _, _, err := c.access(r, capacity); err != nil {
					t.Fatal(err)
				}
				if held := c.tree.Evictable(); held > capacity || c.tree.Protected() != 0 || held+c.alloc.Free() != c.alloc.Total() {
					t.Fatalf("%s: %d cached of %d, %d protected, %d of %d free", name, held, capacity, c.tree.Protected(), c.alloc.Free(), c.alloc.Total())
				}
			}
		}
	})
}

func request(line int, blocks ...uint64) *trace.Request {
	return &trace.Request{Line: line, Input: len(blocks), Blocks: blocks, BlockSize: 1}
}

// Three requests of 4 and 2 blocks into a room of 3, counted by hand.
func TestResult(t *testing.T) {
	p, err := New(Options{Eviction: "lru", Capacity: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*trace.Request{request(1, 1, 2, 3, 4), request(2, 1, 2), request(3, 1, 2, 3, 4)} {
		if err := p.Step(r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := p.Result()
	// 1, 2 and 3 stay; 1 and 2 hit; 1, 2 and 3 hit, and 4 is evicted again.
	want := Result{Eviction: "lru", Index: TreeIndex, Capacity: 3, Requests: 3, Blocks: 10, Hits: 5, Evicted: 2,
		Oversized: 2, OversizedLine: 1, HitRatio: 0.5}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestReplayRefuses(t *testing.T) {
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{Eviction: "luck"}, `--eviction "luck" is not known; use one of belady, `},
		{Options{Eviction: "lru", Capacity: -1}, "--capacity is -1 blocks"},
		{Options{Eviction: "lru", Capacity: maxPages + 1}, "--capacity is 1073741825 blocks"},
		{Options{Eviction: "lfu", History: -1}, "--eviction-history is -1; it must be at least 1"},
		{Options{Eviction: "lru", Index: "hash"}, `index "hash" is not known`},
		{Options{Eviction: "lru", Index: BlockIndex}, "--eviction lru requires --index auto or tree"},
		{Options{Eviction: Belady, Index: TreeIndex}, "--eviction belady requires --index auto or blocks"},
		{Options{Eviction: Belady}, "belady was started before it had read the whole trace"},
	} {
		if _, err := New(c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.opts, err, c.want)
		}
	}
	p, err := New(Options{Eviction: "lru", Capacity: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Result(); err == nil || !strings.Contains(err.Error(), "the trace has no block ids") {
		t.Error(err)
	}
	for _, r := range []*trace.Request{request(7, 1, 2, 3, 4), request(9, 1, 2, 3)} {
		if err := p.Step(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Result(); err == nil || !strings.Contains(err.Error(), "--capacity 2 is too small: the smallest request, on line 9, has 3 blocks") {
		t.Error(err)
	}
	huge := make([]uint64, headroom+3)
	for i := range huge {
		huge[i] = uint64(i) + 100
	}
	if err := p.Step(request(11, huge...)); err == nil || !strings.Contains(err.Error(), "line 11: the simulated cache is full: the request adds 1048579 blocks") {
		t.Error(err)
	}
}

func TestConversations(t *testing.T) {
	c, err := NewConversations()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Spread(); err == nil || !strings.Contains(err.Error(), "has no conversations") {
		t.Error(err)
	}
	// Equal blocks of two conversations are not shared.
	for i, name := range []string{"a", "b", "a", "b", "c", "c/1"} {
		r := request(i+1, 1, 2)
		r.Conversation, r.Subagent = name, name == "c/1"
		if err := c.Step(r); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Spread()
	if want := (Spread{Conversations: 3, Min: 0, P25: 0.25, Median: 0.5, P75: 0.5, Max: 0.5, Mean: 1.0 / 3}); err != nil || s != want {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
}

// The time of one request of the conversation trace's shape: 24 blocks, a
// third of them cached.
func BenchmarkStep(b *testing.B) {
	for _, eviction := range []string{"lru", FIFO, Belady} {
		b.Run(fmt.Sprintf("%s/10000", eviction), func(b *testing.B) {
			future := NewFuture()
			all := make([]*trace.Request, 20_000)
			for i := range all {
				all[i] = request(i + 1)
				for j := range 24 {
					id := uint64(i/7)*100 + uint64(j)
					if j > 8 {
						id = uint64(i)<<32 | uint64(j)
					}
					all[i].Blocks = append(all[i].Blocks, id)
				}
				future.Add(all[i])
			}
			var p *Replay
			for i := 0; b.Loop(); i++ {
				if i%len(all) == 0 {
					var err error
					if p, err = New(Options{Eviction: eviction, Capacity: 10_000, Future: future}); err != nil {
						b.Fatal(err)
					}
				}
				if err := p.Step(all[i%len(all)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
