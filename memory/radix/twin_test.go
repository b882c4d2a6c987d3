package radix

import (
	"slices"

	"github.com/troupe-engine/troupe/messages"
)

// twinPage is one cached page of the slow twin.
type twinPage struct {
	page  messages.Page
	locks int
	usage Usage
}

// treeTwin is the slow, obvious model of a Tree: a map from every cached
// prefix, namespace and tokens written out, to its last page. It knows no
// nodes, so every page has a usage of its own and goes on its own.
type treeTwin struct {
	pageSize int
	policy   Policy
	pages    map[string]*twinPage
	past     map[string]uint32 // hits of evicted pages; nil without history
	tick     uint64
}

func (w *treeTwin) key(ns string, tokens []int32) string {
	key := []byte(ns + "/")
	for _, token := range tokens {
		key = append(key, '0'+byte(token)) // the machine draws from 0, 1, 2
	}
	return string(key)
}

// keys lists the prefixes of a sequence in whole pages, shortest first.
func (w *treeTwin) keys(ns string, tokens []int32) []string {
	var keys []string
	key := w.key(ns, tokens)
	for end := w.pageSize; end <= len(tokens); end += w.pageSize {
		keys = append(keys, key[:len(ns)+1+end])
	}
	return keys
}

// prefix lists the cached pages of a sequence, the longest prefix of it.
func (w *treeTwin) prefix(ns string, tokens []int32) []*twinPage {
	var found []*twinPage
	for _, key := range w.keys(ns, tokens) {
		p := w.pages[key]
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

func (w *treeTwin) use(p *twinPage, hit bool, priority int32) {
	if hit {
		p.usage.Hits++
	}
	p.usage.LastUse = w.tick
	p.usage.Priority = max(p.usage.Priority, priority)
}

// insert adds what is missing of a sequence and notes the use of all of it:
// pages from index counted on get a hit.
func (w *treeTwin) insert(ns string, tokens []int32, pages []messages.Page, counted int, priority int32) {
	w.tick++
	for i, key := range w.keys(ns, tokens) {
		if p := w.pages[key]; p != nil {
			w.use(p, i >= counted, priority)
			continue
		}
		u := Usage{LastUse: w.tick, Created: w.tick, Hits: 1 + w.past[key], Priority: priority}
		delete(w.past, key)
		w.pages[key] = &twinPage{page: pages[i], usage: u}
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

// leaves lists the keys of the unlocked pages that no cached page continues.
func (w *treeTwin) leaves() []string {
	inner := map[string]bool{}
	for key := range w.pages {
		inner[key[:len(key)-w.pageSize]] = true
	}
	var keys []string
	for key, p := range w.pages {
		if !inner[key] && p.locks == 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// victim is the page to evict: of each class the one of the least rank, and of
// those the policy's choice.
func (w *treeTwin) victim() string {
	learner, _ := w.policy.(Learner)
	least, heads := []string{""}, []*Usage{nil}
	if learner != nil {
		least, heads = make([]string, learner.Classes()), make([]*Usage, learner.Classes())
	}
	for _, key := range w.leaves() {
		u, class := &w.pages[key].usage, 0
		if learner != nil {
			class = learner.Class(u)
		}
		if heads[class] == nil || before(w.policy.Rank(u), w.policy.Rank(heads[class])) {
			least[class], heads[class] = key, u
		}
	}
	if learner == nil {
		return least[0]
	}
	class, _ := learner.Choose(w.tick, heads, nil)
	return least[class]
}

// evict takes n pages out, one by one.
func (w *treeTwin) evict(n int) []messages.Page {
	var freed []messages.Page
	for range n {
		key := w.victim()
		freed = append(freed, w.remove(key))
	}
	return freed
}

func (w *treeTwin) remove(key string) messages.Page {
	p := w.pages[key]
	if w.past != nil {
		w.past[key] = p.usage.Hits
	}
	delete(w.pages, key)
	return p.page
}

// removed takes out what a tree of whole nodes has evicted, and reports the
// first page that it must not have: locked, or the prefix of one that stayed.
func (w *treeTwin) removed(freed []messages.Page) (wrong messages.Page) {
	for len(freed) > 0 {
		before := len(freed)
		for _, key := range w.leaves() {
			if i := slices.Index(freed, w.pages[key].page); i >= 0 {
				w.remove(key)
				freed = slices.Delete(slices.Clone(freed), i, i+1)
			}
		}
		if len(freed) == before {
			return freed[0]
		}
	}
	return 0
}

func before(a, b Rank) bool { return a.Major < b.Major || a.Major == b.Major && a.Minor < b.Minor }
