package memory

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// twinPage is one cached page of the slow twin.
type twinPage struct {
	page  messages.Page
	locks int
	used  uint64
}

// treeTwin is the slow, obvious model of a Tree: a map from every cached
// prefix, namespace and tokens written out, to its last page.
type treeTwin struct {
	pageSize int
	pages    map[string]*twinPage
	tick     uint64
}

func (w *treeTwin) key(ns string, tokens []int32) string {
	key := []byte(ns + "/")
	for _, token := range tokens {
		key = append(key, '0'+byte(token)) // the machine draws from 0, 1, 2
	}
	return string(key)
}

// prefix lists the cached pages of a sequence, the longest prefix of it.
func (w *treeTwin) prefix(ns string, tokens []int32) []*twinPage {
	var found []*twinPage
	key := w.key(ns, tokens)
	for end := w.pageSize; end <= len(tokens); end += w.pageSize {
		p := w.pages[key[:len(ns)+1+end]]
		if p == nil {
			break
		}
		found = append(found, p)
	}
	return found
}

func (w *treeTwin) lock(ns string, tokens []int32, by int) {
	for _, p := range w.prefix(ns, tokens) {
		p.locks += by
	}
}

func (w *treeTwin) touch(ns string, tokens []int32) {
	w.tick++
	for _, p := range w.prefix(ns, tokens) {
		p.used = w.tick
	}
}

func (w *treeTwin) count() (evictable, protected int) {
	for _, p := range w.pages {
		if p.locks > 0 {
			protected++
		} else {
			evictable++
		}
	}
	return evictable, protected
}

// evicted takes pages out as the tree did and checks that it was allowed to:
// at least n or everything, only unlocked pages, never a prefix of what stays,
// least recently used first, and no whole tick more than needed.
func (w *treeTwin) evicted(t failer, n int, freed []messages.Page) {
	evictable, _ := w.count()
	if len(freed) < min(n, evictable) {
		t.Fatalf("evicted %d pages of %d, %d were asked", len(freed), evictable, n)
	}
	var latest uint64
	atLatest := 0
	for key, p := range w.pages {
		if !slices.Contains(freed, p.page) {
			continue
		}
		if p.locks > 0 {
			t.Fatalf("evicted page %d of %s, which has %d locks", p.page, key, p.locks)
		}
		if p.used > latest {
			latest, atLatest = p.used, 0
		}
		if p.used == latest {
			atLatest++
		}
		delete(w.pages, key)
		evictable--
	}
	if len(freed)-atLatest >= max(n, 1) {
		t.Fatalf("evicted %d pages, asked for %d, the last %d for nothing", len(freed), n, atLatest)
	}
	if e, _ := w.count(); e != evictable {
		t.Fatalf("evicted pages that were not cached")
	}
}

// closed checks that every cached prefix's own prefixes are cached, and that
// leaves which stayed were used after everything that went (used <= latest).
func (w *treeTwin) closed(t failer, seqs map[string][]int32, ns map[string]string) {
	for key := range w.pages {
		tokens := seqs[key]
		if got := len(w.prefix(ns[key], tokens)) * w.pageSize; got != len(tokens) {
			t.Fatalf("%s stayed without its prefix of %d tokens", key, got)
		}
	}
}

// failer is what testing.T, testing.F and rapid.T have in common here.
type failer interface{ Fatalf(string, ...any) }

// machineRequest holds a locked prefix and private pages.
type machineRequest struct {
	ns     string
	tokens []int32 // whole pages
	pages  []messages.Page
	owned  int
	node   messages.NodeID
}

// treeMachine drives a tree and its twin by the same operations.
type treeMachine struct {
	t     failer
	draw  func(n int) int // in [0, n)
	tree  *Tree
	twin  *treeTwin
	alloc *Allocator
	open  []*machineRequest

	seqs map[string][]int32 // by twin key
	ns   map[string]string

	matched, replaced, grown, evicted int // pages, to see that it all happens
}

func newTreeMachine(t failer, pageSize, pages int, draw func(int) int) *treeMachine {
	return &treeMachine{
		t: t, draw: draw,
		tree:  NewTree(TreeOptions{PageSize: pageSize, HashSeed: uint64(draw(4))}),
		twin:  &treeTwin{pageSize: pageSize, pages: map[string]*twinPage{}},
		alloc: NewAllocator(pages),
		seqs:  map[string][]int32{}, ns: map[string]string{},
	}
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
			m.evict(1 << 30)
		}
	}
	m.check()
}

func (m *treeMachine) admit() {
	if len(m.open) >= 6 {
		return
	}
	r := &machineRequest{ns: [2]string{"", "a"}[m.draw(2)]}
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
	r.node, r.pages = m.tree.Lock(r.ns, tokens, limit)
	if !slices.EqualFunc(r.pages, want, func(p messages.Page, w *twinPage) bool { return p == w.page }) {
		m.t.Fatalf("matched %v, want %d pages", r.pages, len(want))
	}
	if (r.node == messages.RootNode) != (len(want) == 0) {
		m.t.Fatalf("node %#x for %d pages", uint64(r.node), len(want))
	}
	r.owned = len(r.pages)
	m.matched += r.owned
	r.tokens = tokens[:r.owned*m.tree.PageSize()]
	if r.owned > 0 {
		m.twin.touch(r.ns, r.tokens)
		m.twin.lock(r.ns, r.tokens, 1)
	}
	m.open = append(m.open, r)
}

func (m *treeMachine) insert(keep bool) {
	if len(m.open) == 0 {
		return
	}
	at := m.draw(len(m.open))
	r := m.open[at]
	size := m.tree.PageSize()
	if grown, ok := m.alloc.Alloc(m.draw(5), r.pages); ok {
		r.pages = grown
		r.tokens = append(slices.Clone(r.tokens), m.sequence(len(r.pages)-len(r.tokens)/size)...)
	}
	known := len(m.twin.prefix(r.ns, r.tokens))
	own := slices.Clone(r.pages[r.owned:known])
	out, freed := m.tree.Insert(messages.PrefixInsert{
		ID: 7, Namespace: r.ns, Tokens: r.tokens, Pages: slices.Clone(r.pages),
		Owned: r.owned, Node: r.node, Keep: keep,
	}, nil)
	if !slices.Equal(freed, own) {
		m.t.Fatalf("freed %v, the duplicates are %v", freed, own)
	}
	m.alloc.Release(freed)
	m.replaced += len(freed)
	if out.Node == r.node && len(r.pages) > r.owned {
		m.grown++
	}

	m.twin.lock(r.ns, r.tokens[:r.owned*size], -1)
	var replaced []messages.Page
	for i, p := range m.twin.prefix(r.ns, r.tokens) {
		if i >= r.owned {
			replaced = append(replaced, p.page)
			r.pages[i] = p.page
		}
	}
	for end := size * (known + 1); end <= len(r.tokens); end += size {
		key := m.twin.key(r.ns, r.tokens[:end])
		m.twin.pages[key] = &twinPage{page: r.pages[end/size-1]}
		m.seqs[key], m.ns[key] = slices.Clone(r.tokens[:end]), r.ns
	}
	if len(r.tokens) > 0 {
		m.twin.touch(r.ns, r.tokens)
	}
	if !keep {
		replaced = nil
	}
	if !slices.Equal(out.Pages, replaced) || len(replaced) > 0 && out.First != r.owned {
		m.t.Fatalf("told pages %v from %d on, want %v from %d on", out.Pages, out.First, replaced, r.owned)
	}
	if keep {
		m.twin.lock(r.ns, r.tokens, 1)
		r.owned, r.node = len(r.pages), out.Node
	} else {
		m.open = slices.Delete(m.open, at, at+1)
	}
	if (out.Node != messages.RootNode) != (keep && len(r.pages) > 0) {
		m.t.Fatalf("node %#x for %d pages, keep %t", uint64(out.Node), len(r.pages), keep)
	}
}

func (m *treeMachine) drop() {
	if len(m.open) == 0 {
		return
	}
	at := m.draw(len(m.open))
	r := m.open[at]
	m.tree.Unlock(r.node)
	m.twin.lock(r.ns, r.tokens[:r.owned*m.tree.PageSize()], -1)
	m.alloc.Release(r.pages[r.owned:])
	m.open = slices.Delete(m.open, at, at+1)
}

func (m *treeMachine) evict(n int) {
	var freed []messages.Page
	if n == 1<<30 {
		freed = m.tree.EvictAll(nil)
		n = len(freed)
		if m.tree.Evictable() != 0 {
			m.t.Fatalf("%d pages still evictable", m.tree.Evictable())
		}
	} else {
		freed = m.tree.Evict(n, nil)
	}
	var last uint64
	for _, p := range m.twin.pages {
		if slices.Contains(freed, p.page) {
			last = max(last, p.used)
		}
	}
	m.evicted += len(freed)
	m.twin.evicted(m.t, n, freed)
	m.twin.closed(m.t, m.seqs, m.ns)
	m.twin.stayed(m.t, last, m.seqs, m.ns)
	m.alloc.Release(freed)
}

// stayed checks that no unlocked leaf that stayed was used before last, the
// latest use among the evicted.
func (w *treeTwin) stayed(t failer, last uint64, seqs map[string][]int32, ns map[string]string) {
	inner := map[string]bool{}
	for key := range w.pages {
		if tokens := seqs[key]; len(tokens) > w.pageSize {
			inner[w.key(ns[key], tokens[:len(tokens)-w.pageSize])] = true
		}
	}
	for key, p := range w.pages {
		if !inner[key] && p.locks == 0 && p.used < last {
			t.Fatalf("evicted what was used at %d, but %s, used at %d, stayed", last, key, p.used)
		}
	}
}

func (m *treeMachine) check() {
	if err := m.tree.checkInvariants(); err != nil {
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
}

var _ failer = (*testing.T)(nil)
