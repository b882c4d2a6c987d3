package radix

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

type Options struct {
	// PageSize is the number of tokens in a page: a power of two, 1 allowed.
	PageSize int
	// Disabled switches prefix caching off: nothing ever matches, and an insertion only
	// frees its pages. One with Keep or with a node is a broken invariant.
	Disabled bool
	// Policy makes the eviction policy of a Core; nil means LRU.
	Policy func() Policy
	// History, Events and HashSeed go to the tree; see TreeOptions. With Events, each
	// message that changed the cache is followed by one CacheChanged to the observer.
	History  int
	Events   bool
	HashSeed uint64
}

// Core is the radix cache's actor core: the tree of one epoch. It answers
// LockPrefixes, carries out the cache's half of CommitPlan and passes the
// other half on to the allocator, and adds its part to an audit.
type Core struct {
	disabled bool
	explain  bool
	tree     *Tree
	// reserve is the second half of a plan. Its memory is reused: the next plan
	// comes after this one has been carried out.
	reserve  messages.ReservePages
	lastPlan messages.PlanID // committed
	events   uint64          // messages sent to the observer
	// offered are the handles given to the candidates of the plan candidates. Those
	// that the plan unlocks were not admitted; other handles are of requests that ran.
	offered    []messages.NodeID
	candidates messages.PlanID
}

func New(opts Options) *Core {
	var policy Policy
	if opts.Policy != nil {
		policy = opts.Policy()
	}
	return &Core{
		disabled: opts.Disabled,
		tree: NewTree(TreeOptions{
			PageSize: opts.PageSize, Policy: policy,
			History: opts.History, Events: opts.Events, HashSeed: opts.HashSeed,
		}),
	}
}

// Explain sets whether matches say why they end, which costs a second walk; off at first.
func (c *Core) Explain(on bool) { c.explain = on }

// Tree is the core's tree, for reading only: counters, Peek and String.
func (c *Core) Tree() *Tree { return c.tree }

func (c *Core) Handle(_ time.Duration, msg messages.ToCache, out *messages.Outbox) {
	switch m := msg.(type) {
	case *messages.LockPrefixes:
		c.lockPrefixes(m, out)
	case *messages.PeekPrefixes:
		c.peekPrefixes(m, out)
	case *messages.CommitPlan:
		c.commitPlan(m, out)
	case *messages.ListPages:
		c.listPages(m, out)
	case *messages.DescribeCache:
		out.ToIntake(&messages.CacheDescribed{Ticket: m.Ticket, View: c.describe(m.Limits)})
	case *messages.AuditSlots:
		audit := *m
		audit.Count.Evictable += c.tree.Evictable()
		audit.Count.Protected += c.tree.Protected()
		if s := audit.Snapshot; s != nil {
			c.tree.claim(s)
			s.Tree = c.describe(messages.CacheLimits{Depth: 64, Nodes: 200, Tokens: 1})
		}
		out.ToAllocator(&audit)
	default:
		invariants.Fail("the cache got a %T", msg)
	}
}

func (c *Core) lockPrefixes(m *messages.LockPrefixes, out *messages.Outbox) {
	reply := &messages.PrefixesLocked{Plan: m.Plan, Matches: make([]messages.PrefixLocked, len(m.Prefixes))}
	c.offered, c.candidates = c.offered[:0], m.Plan
	for i := range m.Prefixes {
		p := &m.Prefixes[i]
		match := messages.PrefixLocked{ID: p.ID}
		if !c.disabled {
			if c.explain {
				match.End, match.EndAt = c.tree.matchEnd(p.Namespace, p.Tokens, p.Limit)
			}
			match.Node, match.Pages = c.tree.Lock(p.Namespace, p.Tokens, p.Limit, nil)
			c.offered = append(c.offered, match.Node)
		}
		reply.Matches[i] = match
	}
	c.verify(m.Plan)
	reply.Cached = c.counters()
	out.ToFormer(reply)
	c.record(out)
}

// peekPrefixes answers with hints for the waiting queue. Its cost is linear in the tokens
// matched; it stops after MaxTokens of them. The first request is always answered.
func (c *Core) peekPrefixes(m *messages.PeekPrefixes, out *messages.Outbox) {
	reply := &messages.PrefixesPeeked{Peeked: make([]messages.PrefixPeeked, 0, len(m.Prefixes))}
	tokens := 0
	for i := range m.Prefixes {
		if i > 0 && tokens >= m.MaxTokens {
			break
		}
		p := &m.Prefixes[i]
		found := messages.PrefixPeeked{ID: p.ID}
		if m.PathNodes > 0 {
			found.Tokens, found.Path = c.tree.PeekPath(p.Namespace, p.Tokens, m.PathNodes)
		} else {
			found.Tokens = c.tree.Peek(p.Namespace, p.Tokens)
		}
		tokens += found.Tokens
		reply.Peeked = append(reply.Peeked, found)
	}
	out.ToQueue(reply)
}

// commitPlan inserts, unlocks and evicts, in this order, and sends all freed pages
// to the allocator, together with those of the leases; evicted pages as runs. The batch
// former cannot count the duplicates that insertions free. They need not be evicted, and
// a plan may ask for more than is evictable.
func (c *Core) commitPlan(m *messages.CommitPlan, out *messages.Outbox) {
	if m.Plan <= c.lastPlan { // not Check, whose arguments cost allocations
		invariants.Fail("plan %d committed after plan %d", m.Plan, c.lastPlan)
	}
	c.lastPlan = m.Plan
	frees := m.Frees
	clear(c.reserve.Inserted)
	inserted := c.reserve.Inserted[:0]
	for i := range m.Inserts {
		var outcome messages.PrefixInserted
		outcome, frees = c.insert(m.Inserts[i], frees)
		inserted = append(inserted, outcome)
	}
	missing := m.EvictPages - (len(frees) - len(m.Frees))
	for _, node := range m.Unlocks {
		c.unlock(m.Plan, node)
	}
	evictable, evicted := c.tree.Evictable(), c.reserve.Evicted[:0]
	if m.EvictAll {
		evicted = c.tree.EvictAll(evicted)
	} else if n := min(missing, evictable); n > 0 {
		evicted, _ = c.tree.Evict(n, evicted) // not refused: n is evictable
	}
	c.verify(m.Plan)
	c.reserve = messages.ReservePages{
		Plan:  m.Plan,
		Frees: frees, Evicted: evicted, Reserves: m.Reserves,
		Inserted: inserted, Cached: c.counters(),
	}
	out.ToAllocator(&c.reserve)
	if pages := evictable - c.tree.Evictable(); pages > 0 {
		out.Record(messages.EvictedTokens, float64(pages*c.tree.PageSize()))
	}
	if events := c.tree.TakeEvents(); len(events) > 0 {
		c.events++
		out.ToObserver(&messages.CacheChanged{Seq: c.events, Events: events})
	}
	c.record(out)
}

// unlock releases a lock. That counts as a use, unless a candidate had the lock.
func (c *Core) unlock(plan messages.PlanID, node messages.NodeID) {
	at := -1
	if plan == c.candidates {
		at = slices.Index(c.offered, node)
	}
	if at < 0 {
		c.tree.UnlockUsed(node)
		return
	}
	c.offered[at] = messages.RootNode // once per lock
	c.tree.Unlock(node)
}

func (c *Core) insert(in messages.PrefixInsert, frees []messages.Page) (messages.PrefixInserted, []messages.Page) {
	if !c.disabled {
		return c.tree.Insert(in, frees)
	}
	invariants.Check(!in.Keep && in.Owned == 0 && in.Node == messages.RootNode,
		"request %d keeps a prefix in a disabled cache", in.ID)
	return messages.PrefixInserted{ID: in.ID}, append(frees, in.Pages...)
}

func (c *Core) counters() messages.CachePages {
	return messages.CachePages{Evictable: c.tree.Evictable(), Protected: c.tree.Protected()}
}

func (c *Core) record(out *messages.Outbox) {
	out.Record(messages.PagesEvictable, float64(c.tree.Evictable()))
	out.Record(messages.PagesProtected, float64(c.tree.Protected()))
	out.Record(messages.RadixNodes, float64(c.tree.Nodes()))
}

// listPages answers with a part of the list. Its hashes are a copy: the tree changes its own.
func (c *Core) listPages(m *messages.ListPages, out *messages.Outbox) {
	reply := &messages.PagesListed{Ticket: m.Ticket}
	reply.Hashes, reply.Next = c.tree.List(m.After, m.Max, make([]uint64, 0, m.Max))
	out.ToPortal(reply)
}

// describe copies a part of the tree. Salts are secret, so namespaces are hashes.
func (c *Core) describe(limits messages.CacheLimits) View {
	v := c.tree.View(limits)
	for i := range v.Namespaces {
		if n := &v.Namespaces[i]; n.Name != "" {
			n.Name = fmt.Sprintf("%016x", RootHash(n.Name))
		}
	}
	return v
}

// verify checks the tree with invariants on: at every plan, or at some if it is big.
func (c *Core) verify(plan messages.PlanID) {
	const small, every = 128, 256
	if !invariants.Enabled || c.tree.Nodes() > small && plan%every != 0 {
		return
	}
	if err := c.tree.Check(); err != nil {
		invariants.Fail("radix tree: %v", err)
	}
}
