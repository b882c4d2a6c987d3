package former

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"pgregory.net/rapid"
)

// failer is what testing.T and rapid.T have in common here.
type failer interface{ Fatalf(string, ...any) }

// memoryRing is the radix cache with the allocator behind it.
type memoryRing struct {
	cache *radix.Core
	alloc *pages.Core
	out   messages.Outbox
}

func newMemoryRing(opts radix.Options, total int) *memoryRing {
	return &memoryRing{cache: radix.New(opts), alloc: pages.New(pages.Options{Pages: total})}
}

// send passes a message around the ring and returns what the batch former gets.
func (r *memoryRing) send(t failer, msg messages.ToCache) any {
	r.out.Reset()
	r.cache.Handle(0, msg, &r.out)
	if len(r.out.Sends) == 1 && r.out.Sends[0].To == messages.Allocator {
		next := r.out.Sends[0].Msg.(messages.ToAllocator)
		r.out.Reset()
		r.alloc.Handle(0, next, &r.out)
	}
	if len(r.out.Sends) != 1 || r.out.Sends[0].To != messages.Former {
		t.Fatalf("%T brought %+v", msg, r.out.Sends)
	}
	return r.out.Sends[0].Msg
}

// batchTwin is a simple batch former: it drives the two cores around the ring
// with random admissions, chunks, ends and retractions. Beside the page
// numbers it keeps what a device would have written into each slot, a hash of
// all tokens up to there, so that a wrong, stale or doubly used page shows.
type batchTwin struct {
	t       failer
	draw    func(n int) int
	ring    *memoryRing
	opts    radix.Options
	pages   int
	rows    *Rows
	running []*twinRequest
	plan    messages.PlanID
	step    messages.StepID
	lastID  messages.RequestID
	free    int
	cached  messages.CachePages
	kv      []uint64 // by slot

	matched, replaced, computed int // to see that it all happens
}

type twinRequest struct {
	id       messages.RequestID
	ns       string
	tokens   []int32
	computed int // tokens whose KV is written
	lease    Lease
	want     int // pages reserved in this plan
	kept     int // pages inserted with Keep in this plan
	ending   bool
}

func newBatchTwin(t failer, opts radix.Options, pages int, draw func(int) int) *batchTwin {
	return &batchTwin{
		t: t, draw: draw, opts: opts, pages: pages, ring: newMemoryRing(opts, pages),
		rows: NewRows(8), free: pages, kv: make([]uint64, (pages+1)*opts.PageSize),
	}
}

// kv yields the KV of each of the request's tokens in turn.
func (r *twinRequest) kv(yield func(at int, kv uint64) bool) {
	h := uint64(len(r.ns)) + 1
	for at, token := range r.tokens {
		h = (h ^ uint64(uint32(token))) * 0x9e3779b97f4a7c15
		h ^= h >> 29
		if !yield(at, h) {
			return
		}
	}
}

// round is one step of the engine: lock, plan, compute, audit.
func (b *batchTwin) round() {
	b.plan++
	b.admit()
	plan := &messages.CommitPlan{Plan: b.plan}
	for _, r := range b.running {
		b.giveBack(plan, r)
	}
	b.reserve(plan)
	switch reply := b.ring.send(b.t, plan).(type) {
	case *messages.PagesReserved:
		b.reserved(reply)
	default:
		b.t.Fatalf("plan %d was answered by %+v", b.plan, reply)
	}
	b.compute()
	b.audit()
}

func (b *batchTwin) admit() {
	lock := &messages.LockPrefixes{Plan: b.plan}
	var fresh []*twinRequest
	for n := b.draw(3); n > 0 && b.rows.Free() > len(fresh); n-- {
		b.lastID++
		r := &twinRequest{id: b.lastID, ns: []string{"", "ab"}[b.draw(2)], tokens: b.tokens(1 + b.draw(4*b.opts.PageSize+8))}
		fresh = append(fresh, r)
		lock.Prefixes = append(lock.Prefixes, messages.PrefixLock{ID: r.id, Namespace: r.ns, Tokens: r.tokens, Limit: len(r.tokens) - 1})
	}
	if len(fresh) == 0 {
		return
	}
	locked := b.ring.send(b.t, lock).(*messages.PrefixesLocked)
	b.cached = locked.Cached
	for i, r := range fresh {
		row, _ := b.rows.Take()
		r.lease = OpenLease(row, locked.Matches[i], b.opts.PageSize)
		r.computed = r.lease.Cached
		b.matched += r.lease.Owned
		b.verify(r)
		b.running = append(b.running, r)
	}
}

// tokens draws a sequence of which many share a prefix.
func (b *batchTwin) tokens(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		if (i+1)%max(3, b.opts.PageSize) == 0 && b.draw(6) == 0 {
			tokens[i] = int32(1 + b.draw(2))
		}
	}
	return tokens
}

// giveBack inserts, frees or keeps what a request has, by chance.
func (b *batchTwin) giveBack(plan *messages.CommitPlan, r *twinRequest) {
	l := &r.lease
	whole := paging.Whole(r.computed, b.opts.PageSize)
	insert := messages.PrefixInsert{
		ID: r.id, Namespace: r.ns, Tokens: r.tokens[:whole*b.opts.PageSize],
		Pages: slices.Clone(l.Pages[:whole]), Owned: l.Owned, Node: l.Node,
	}
	switch b.draw(6) {
	case 0: // ends: what can be cached is, the rest goes back
		r.ending = true
		plan.Inserts = append(plan.Inserts, insert)
		plan.Frees = append(plan.Frees, l.Pages[whole:]...)
	case 1: // is dropped
		r.ending = true
		l.Close()
		row, pages, node := l.Release(b.step)
		*l = Lease{Row: row}
		plan.Frees = append(plan.Frees, pages...)
		if node != messages.RootNode {
			plan.Unlocks = append(plan.Unlocks, node)
		}
	case 2, 3:
		if !b.opts.Disabled {
			insert.Keep, r.kept = true, whole
			plan.Inserts = append(plan.Inserts, insert)
		}
	}
}

// reserve asks for as much as surely fits: what is free, what the plan frees
// and what can be evicted. Duplicates come on top as a surprise.
func (b *batchTwin) reserve(plan *messages.CommitPlan) {
	need, free := 0, b.free+len(plan.Frees)
	if b.opts.Disabled {
		for _, in := range plan.Inserts {
			free += len(in.Pages)
		}
	}
	for _, r := range b.running {
		chunk := 1 + b.draw(2*b.opts.PageSize)
		missing := r.lease.Missing(r.computed+chunk, b.opts.PageSize)
		if r.ending || missing == 0 || need+missing > free+b.cached.Evictable {
			continue
		}
		r.want = missing
		need += missing
		plan.Reserves = append(plan.Reserves, messages.PageReserve{ID: r.id, Pages: missing})
	}
	plan.EvictPages = max(0, need-free)
	switch b.draw(20) {
	case 0:
		plan.EvictAll = true
	case 1:
		plan.EvictPages += b.draw(5)
	}
}

func (b *batchTwin) reserved(reply *messages.PagesReserved) {
	granted, inserted := reply.Granted, reply.Inserted
	left := b.running[:0]
	for _, r := range b.running {
		if len(inserted) > 0 && inserted[0].ID == r.id {
			if r.kept > 0 || !r.ending {
				if r.lease.Inserted(inserted[0], r.kept) {
					b.replaced++
				}
			}
			inserted = inserted[1:]
		}
		if r.want > 0 {
			if granted[0].ID != r.id || len(granted[0].Pages) != r.want {
				b.t.Fatalf("request %d wanted %d pages, got %+v", r.id, r.want, granted[0])
			}
			r.lease.Grow(granted[0].Pages)
			granted = granted[1:]
		}
		r.want, r.kept = 0, 0
		if r.ending {
			b.rows.Give(r.lease.Row)
			continue
		}
		b.verify(r)
		left = append(left, r)
	}
	if len(granted)+len(inserted) > 0 {
		b.t.Fatalf("too much granted or inserted: %+v", reply)
	}
	b.running = left
	b.free, b.cached = reply.Free, reply.Cached
}

// verify checks that a request reads what it, or someone like it, has written.
func (b *batchTwin) verify(r *twinRequest) {
	for at, kv := range r.kv {
		if at == r.computed {
			return
		}
		slot := slotOf(&r.lease, at, b.opts.PageSize)
		if slot < b.opts.PageSize {
			b.t.Fatalf("request %d reads the padding slot %d", r.id, slot)
		}
		if b.kv[slot] != kv {
			b.t.Fatalf("request %d reads slot %d at position %d: not its KV", r.id, slot, at)
		}
	}
}

// compute writes the KV of as many tokens as the leases hold. A request whose
// tokens are all computed gets new ones, as from sampling.
func (b *batchTwin) compute() {
	b.step++
	for _, r := range b.running {
		until := min(r.lease.Capacity(b.opts.PageSize), r.computed+1+b.draw(2*b.opts.PageSize))
		if more := until - len(r.tokens); more > 0 {
			r.tokens = append(slices.Clone(r.tokens), b.tokens(more)...)
		}
		if until > r.computed {
			r.lease.Launch(b.step)
		}
		for at, kv := range r.kv {
			if at >= r.computed && at < until {
				b.kv[slotOf(&r.lease, at, b.opts.PageSize)] = kv
			}
		}
		b.computed += max(0, until-r.computed)
		r.computed = max(r.computed, until)
	}
}

func (b *batchTwin) audit() {
	leased := 0
	for _, r := range b.running {
		leased += len(r.lease.Private())
	}
	got := b.ring.send(b.t, &messages.AuditSlots{Count: messages.PageCount{Leased: leased}}).(*messages.AuditSlots)
	want := messages.PageCount{Free: b.free, Evictable: b.cached.Evictable, Protected: b.cached.Protected, Leased: leased, Total: b.pages}
	if got.Count != want || !got.Count.Balanced() {
		b.t.Fatalf("audit %+v, want %+v", got.Count, want)
	}
	if err := b.ring.cache.Tree().Check(); err != nil {
		b.t.Fatalf("invariant %v\n%s", err, b.ring.cache.Tree())
	}
}

// soak multiplies the length of random runs under TROUPE_SOAK=1.
func soak(ops int) int {
	if os.Getenv("TROUPE_SOAK") != "" {
		return 100 * ops
	}
	return ops
}

func TestRingConservesPagesLongRun(t *testing.T) {
	for _, pageSize := range []int{1, 4, 16, 64} {
		for _, disabled := range []bool{false, true} {
			t.Run(fmt.Sprintf("page size %d, disabled %t", pageSize, disabled), func(t *testing.T) {
				t.Parallel()
				computed, matched, replaced, runs := 0, 0, 0, soak(12)
				for run := range runs {
					rng := rand.New(rand.NewPCG(uint64(run), uint64(pageSize)))
					b := newBatchTwin(t, radix.Options{PageSize: pageSize, Disabled: disabled}, 20+rng.IntN(60), rng.IntN)
					for range 800 / (1 + pageSize/16) {
						b.round()
					}
					computed, matched, replaced = computed+b.computed, matched+b.matched, replaced+b.replaced
				}
				if computed < 100*pageSize*runs || !disabled && (matched < 50*runs || replaced < 5*runs) {
					t.Fatalf("%d dull runs: %d tokens computed, %d pages matched, %d rows replaced", runs, computed, matched, replaced)
				}
			})
		}
	}
}

func TestEqualRunsAreEqual(t *testing.T) {
	run := func() string {
		rng := rand.New(rand.NewPCG(1, 2))
		b := newBatchTwin(t, radix.Options{PageSize: 4}, 60, rng.IntN)
		var log strings.Builder
		for range 100 {
			b.round()
			fmt.Fprintln(&log, b.ring.cache.Tree(), b.free)
			for _, r := range b.running {
				fmt.Fprintln(&log, r.lease)
			}
		}
		return log.String()
	}
	if first, second := run(), run(); first != second || len(first) < 1000 {
		t.Errorf("two runs with the same seed differ:\n%s\n%s", first, second)
	}
}

func TestRingConservesPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
		b := newBatchTwin(t, radix.Options{PageSize: 1 << draw(4), Disabled: draw(8) == 0}, 10+draw(40), draw)
		for range rapid.IntRange(20, 150).Draw(t, "rounds") {
			b.round()
		}
	})
}
