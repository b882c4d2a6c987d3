package radix

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/messages"
)

// failer is what testing.T, testing.F and rapid.T have in common here.
type failer interface{ Fatalf(string, ...any) }

var _ failer = (*testing.T)(nil)

// machineRequest holds a locked prefix and private pages.
type machineRequest struct {
	ns       string
	tokens   []int32 // whole pages
	pages    []messages.Page
	owned    int
	node     messages.NodeID
	counted  bool // an insertion has counted its path
	priority int32
}

// treeMachine drives a tree and its twins by the same operations.
type treeMachine struct {
	t     failer
	draw  func(n int) int // in [0, n)
	tree  *Tree
	twin  *treeTwin
	alloc *pages.Allocator
	refs  *refPool
	open  []*machineRequest

	matched, replaced, grown, evicted, shortened int // to see that it all happens
}

func newTreeMachine(t failer, opts TreeOptions, total int, draw func(int) int) *treeMachine {
	opts.HashSeed = uint64(draw(4))
	m := &treeMachine{
		t: t, draw: draw, tree: NewTree(opts), alloc: pages.NewAllocator(total), refs: newRefPool(total),
		twin: &treeTwin{pageSize: opts.PageSize, policy: opts.Policy, pages: map[string]*twinPage{}},
	}
	if opts.History > 0 {
		m.twin.past = map[string]uint32{}
	}
	return m
}

// sequence draws pages pages of tokens out of few, so that prefixes meet. Pages
// may differ in any one token.
func (m *treeMachine) sequence(pages int) []int32 {
	var tokens []int32
	size := m.tree.PageSize()
	for range pages {
		page := make([]int32, size)
		if m.draw(4) == 0 {
			page[[3]int{0, size / 2, size - 1}[m.draw(3)]] = int32(1 + m.draw(2))
		}
		tokens = append(tokens, page...)
	}
	return tokens
}

func (m *treeMachine) step() {
	switch op := m.draw(16); {
	case op < 5:
		m.admit()
	case op < 9:
		m.insert(true)
	case op < 12:
		m.insert(false)
	case op < 13:
		m.drop()
	case op < 15:
		m.evict(m.draw(8))
	default:
		if m.draw(6) == 0 {
			m.evictAll()
		}
	}
	m.check()
}

func (m *treeMachine) admit() {
	if len(m.open) >= 6 {
		return
	}
	r := &machineRequest{ns: [2]string{"", "a"}[m.draw(2)], priority: int32(m.draw(3) - 1)}
	tokens := m.sequence(m.draw(10))
	tokens = append(tokens, make([]int32, m.draw(m.tree.PageSize()))...)
	limit := len(tokens)
	if m.draw(4) == 0 {
		limit = m.draw(limit + 1)
	}
	want := m.twin.prefix(r.ns, tokens[:limit])
	if got := m.tree.Peek(r.ns, tokens[:limit]); got != len(want)*m.tree.PageSize() {
		m.t.Fatalf("peeked %d tokens, want %d pages", got, len(want))
	}
	r.node, r.pages = m.tree.Lock(r.ns, tokens, limit, nil)
	if !slices.EqualFunc(r.pages, want, func(p messages.Page, w *twinPage) bool { return p == w.page }) {
		m.t.Fatalf("matched %v, want %d pages", r.pages, len(want))
	}
	if (r.node == messages.RootNode) != (len(want) == 0) {
		m.t.Fatalf("node %#x for %d pages", uint64(r.node), len(want))
	}
	r.owned = len(r.pages)
	m.matched += r.owned
	r.tokens = tokens[:r.owned*m.tree.PageSize()]
	m.twin.lock(r.ns, r.tokens, 1)
	m.refs.add(r.pages)
	m.open = append(m.open, r)
}

func (m *treeMachine) insert(keep bool) {
	if len(m.open) == 0 {
		return
	}
	at := m.draw(len(m.open))
	r := m.open[at]
	size := m.tree.PageSize()
	if more, ok := m.alloc.Alloc(m.draw(5), nil); ok {
		m.refs.add(more)
		r.pages = append(r.pages, more...)
		r.tokens = append(slices.Clone(r.tokens), m.sequence(len(r.pages)-len(r.tokens)/size)...)
	}
	known := len(m.twin.prefix(r.ns, r.tokens))
	own := slices.Clone(r.pages[r.owned:known])
	nodes := m.tree.Nodes()
	out, freed := m.tree.Insert(messages.PrefixInsert{
		ID: 7, Namespace: r.ns, Tokens: r.tokens, Pages: slices.Clone(r.pages),
		Owned: r.owned, Node: r.node, Keep: keep, Priority: r.priority,
	}, nil)
	if !slices.Equal(freed, own) {
		m.t.Fatalf("freed %v, the duplicates are %v", freed, own)
	}
	m.replaced += len(freed)
	if m.tree.Nodes() == nodes && known < len(r.pages) {
		m.grown++
	}
	counted := 0
	if r.counted {
		counted = r.owned
	}
	m.twin.lock(r.ns, r.tokens[:r.owned*size], -1)
	if len(r.pages) > 0 {
		m.twin.insert(r.ns, r.tokens, r.pages, counted, r.priority)
	}
	var replaced []messages.Page
	for i, p := range m.twin.prefix(r.ns, r.tokens) {
		if i >= r.owned && i < known {
			replaced = append(replaced, p.page)
			r.pages[i] = p.page
		}
	}
	// The article's pool: the tree takes a reference on what it keeps, and the
	// request one on what it uses instead of its own.
	m.refs.add(r.pages[known:])
	m.refs.add(replaced)
	m.release(freed)
	if !keep {
		m.refs.decrease(r.pages)
		replaced = nil
	}
	if !slices.Equal(out.Pages, replaced) || len(replaced) > 0 && out.First != r.owned {
		m.t.Fatalf("told pages %v from %d on, want %v from %d on", out.Pages, out.First, replaced, r.owned)
	}
	if keep {
		m.twin.lock(r.ns, r.tokens, 1)
		r.owned, r.node, r.counted = len(r.pages), out.Node, len(r.pages) > 0
	} else {
		m.open = slices.Delete(m.open, at, at+1)
	}
	if (out.Node != messages.RootNode) != (keep && len(r.pages) > 0) {
		m.t.Fatalf("node %#x for %d pages, keep %t", uint64(out.Node), len(r.pages), keep)
	}
}

// release frees pages that one owner gives back, in both pools.
func (m *treeMachine) release(pages []messages.Page) {
	m.refs.decrease(pages)
	m.alloc.Release(pages)
}

// releaseRuns is release of what the tree evicted.
func (m *treeMachine) releaseRuns(runs []messages.PageRun) {
	m.refs.decrease(pagesOf(runs))
	m.alloc.ReleaseRuns(runs)
}

func (m *treeMachine) drop() {
	if len(m.open) == 0 {
		return
	}
	at := m.draw(len(m.open))
	r := m.open[at]
	used := m.draw(2) == 0
	if used {
		m.tree.UnlockUsed(r.node)
	} else {
		m.tree.Unlock(r.node)
	}
	own := r.tokens[:r.owned*m.tree.PageSize()]
	m.twin.lock(r.ns, own, -1)
	if r.owned > 0 && (used || !r.counted) {
		m.twin.tick++
		for _, p := range m.twin.prefix(r.ns, own) {
			m.twin.use(p, used && !r.counted, p.usage.Priority)
		}
	}
	m.refs.decrease(r.pages[:r.owned])
	m.release(r.pages[r.owned:])
	m.open = slices.Delete(m.open, at, at+1)
}

func (m *treeMachine) evict(n int) {
	evictable, nodes := m.tree.Evictable(), m.tree.Nodes()
	runs, err := m.tree.Evict(n, nil)
	freed := pagesOf(runs)
	if (err != nil) != (n > evictable) {
		m.t.Fatalf("evicting %d of %d pages: %v", n, evictable, err)
	}
	if err != nil {
		n = 0
	}
	m.evicted += len(freed)
	if len(freed) > 0 && m.tree.Nodes() == nodes {
		m.shortened++
	}
	if _, known := m.twin.policy.(*agingClasses); m.tree.learner != nil && !known {
		// The twin knows no paths, by which a Learner may choose. It checks that
		// each page might go, and how many do.
		wrong := m.twin.removed(freed)
		if wrong != 0 || len(freed) != n {
			m.t.Fatalf("evicted %v for %d pages, of them page %d too early", freed, n, wrong)
		}
	} else if want := m.twin.evict(n); !slices.Equal(sorted(freed), sorted(want)) {
		m.t.Fatalf("evicted %v, want %v", freed, want)
	}
	m.releaseRuns(runs)
}

func (m *treeMachine) evictAll() {
	runs := m.tree.EvictAll(nil)
	freed := pagesOf(runs)
	evictable, _ := m.twin.count()
	if wrong := m.twin.removed(freed); wrong != 0 || len(freed) != evictable || m.tree.Evictable() != 0 {
		m.t.Fatalf("evicted %v, of %d evictable pages, page %d wrongly", freed, evictable, wrong)
	}
	m.evicted += len(freed)
	m.releaseRuns(runs)
}

func sorted(pages []messages.Page) []messages.Page {
	pages = slices.Clone(pages)
	slices.Sort(pages)
	return pages
}

func (m *treeMachine) check() {
	if err := m.tree.Check(); err != nil {
		m.t.Fatalf("invariant %v\n%s", err, m.tree)
	}
	evictable, protected := m.twin.count()
	if m.tree.Evictable() != evictable || m.tree.Protected() != protected {
		m.t.Fatalf("%d evictable and %d protected, want %d and %d", m.tree.Evictable(), m.tree.Protected(), evictable, protected)
	}
	private := 0
	for _, r := range m.open {
		private += len(r.pages) - r.owned
	}
	if m.alloc.Free()+evictable+protected+private != m.alloc.Total() {
		m.t.Fatalf("free %d + evictable %d + protected %d + private %d is not %d", m.alloc.Free(), evictable, protected, private, m.alloc.Total())
	}
	m.refs.check(m)
}
