package memory

import (
	"fmt"
	"slices"
	"strings"
)

// Usage is what an eviction policy knows about a node. All pages of a node
// share it. Times are ticks of the tree, one per insertion or unlock, never a
// clock.
type Usage struct {
	LastUse uint64 // the latest insertion or unlock that went through the node
	Created uint64 // the insertion that brought the pages
	// Hits is how many requests used the pages, the one that brought them
	// included: each admission counts once, however many chunks it inserts.
	// With History it includes what was counted before an eviction.
	Hits     uint32
	Priority int32  // the greatest of the requests that inserted through the node
	Depth    int32  // pages from the root to the node's first page
	Note     uint32 // the policy's own; see Watcher
}

// Rank orders the unlocked leaves: by Major, then by Minor, the least goes
// first. Two leaves must not have equal ranks, so that eviction is
// deterministic; ticks see to that, since one tick touches one path, and a
// path has one leaf.
type Rank struct {
	Major uint32
	Minor uint64
}

func (r Rank) before(o Rank) bool {
	return r.Major < o.Major || r.Major == o.Major && r.Minor < o.Minor
}

// Policy decides which unlocked leaf is evicted first.
//
// A plain policy only ranks. The tree asks for a leaf's rank once, when it gets
// unlocked, and keeps it in a heap: O(log leaves) per freed node. So a rank
// must depend on nothing but the Usage. Every policy here is one line; write
// the next one like them and add it to the list in PolicyByName.
//
// What a leaf is worth may also change while it waits, as hits per time do. For
// that, sort the leaves into a few classes whose order within is fixed (by last
// use, mostly) and implement Chooser: only the heads of the classes are weighed
// against one another, at the time of the eviction.
//
// A policy that learns, from how long pages wait for their next hit, say,
// implements Watcher as well. It may keep what it likes in itself and 32 bits
// per node in Usage.Note. One policy value serves one tree.
//
// Pages stay together in a node only while the policy treats them alike: where
// rank, class or note would differ, new pages become nodes of their own. So
// every decision is exact to the page.
type Policy interface {
	Rank(u *Usage) Rank
}

// Chooser is a policy of several classes of leaves, each in a heap of its own
// in the order of Rank.
type Chooser interface {
	Policy
	// Classes is the number of classes, a constant.
	Classes() int
	// Class sorts a leaf, by its Usage only, into [0, Classes()).
	Class(u *Usage) int
	// Choose picks the class whose head is evicted at the tick now. heads[c] is
	// the least of class c, nil when the class is empty; at least one is not.
	Choose(now uint64, heads []*Usage) int
}

// Watcher is a policy that learns from what happens to pages. Pages that are
// told of are consecutive, of one node, and begin at u.Depth.
type Watcher interface {
	Policy
	// Born tells of pages that come into the cache. u has its final values but
	// for LastUse, which is the last use before their last eviction if History
	// remembers it and 0 otherwise, and Note, which is what it was then.
	Born(u *Usage, now uint64, pages int)
	// Hit tells of a request that uses pages which are there, once per
	// admission, before Hits and LastUse change.
	Hit(u *Usage, now uint64, pages int)
	// Evicted tells of pages that go, after the choice.
	Evicted(u *Usage, now uint64, pages int)
}

// DoubleEnded is a Chooser for classes whose worth need not fall with age: a
// page may be worth least when it has just been used. Both ends of each class
// are weighed then, and Choose is not asked.
type DoubleEnded interface {
	Chooser
	// ChooseEnd picks the class, and whether its latest leaf goes or its least.
	// latest[c] is the leaf of class c that came last with a rank above all
	// others of its class; nil when none such is left.
	ChooseEnd(now uint64, least, latest []*Usage) (class int, last bool)
}

// PathWatcher is a Watcher that also hears of each insertion as a whole, and so
// can tell a conversation that goes on from one that begins. The last page that
// a request brings is a node of its own then, since the end of a prompt has
// chances of its own.
type PathWatcher interface {
	Watcher
	// Used tells of an insertion after its Born and Hit: the nodes from its end
	// up to the root, with their usage as it is now, which Used may give a new
	// Note. first and last say whether it is its request's first insertion and
	// whether the request gives its pages up with it.
	Used(now uint64, path []Step, first, last bool)
}

// Step is one node of the path of an insertion.
type Step struct {
	Usage *Usage
	Pages int
	// Hit: the insertion counts as a use of pages that were there.
	Hit bool
	// Before is LastUse before the insertion, if the pages were there.
	Before uint64
}

// The policies of SGLang, with its keys.
type (
	// LRU evicts what was used least recently.
	LRU struct{}
	// LFU evicts what the fewest requests used, of equals the least recent.
	LFU struct{}
	// SLRU evicts the least recent of those that one request used, and only
	// then the least recent of the protected, those that two or more used.
	SLRU struct{}
	// FIFO evicts what came first.
	FIFO struct{}
	// MRU evicts what was used most recently.
	MRU struct{}
	// FILO evicts what came last.
	FILO struct{}
	// Priority evicts the lowest priority, of equals the least recent.
	Priority struct{}
)

// protectedHits is how many requests make a node protected in SLRU.
const protectedHits = 2

// Rank is the last use.
func (LRU) Rank(u *Usage) Rank { return Rank{Minor: u.LastUse} }

// Rank is (hits, last use).
func (LFU) Rank(u *Usage) Rank { return Rank{u.Hits, u.LastUse} }

// Rank is (protected or not, last use).
func (SLRU) Rank(u *Usage) Rank {
	if u.Hits >= protectedHits {
		return Rank{1, u.LastUse}
	}
	return Rank{0, u.LastUse}
}

// Rank is the creation.
func (FIFO) Rank(u *Usage) Rank { return Rank{Minor: u.Created} }

// Rank is the last use, reversed.
func (MRU) Rank(u *Usage) Rank { return Rank{Minor: ^u.LastUse} }

// Rank is the creation, reversed.
func (FILO) Rank(u *Usage) Rank { return Rank{Minor: ^u.Created} }

// Rank is (priority, last use).
func (Priority) Rank(u *Usage) Rank {
	return Rank{uint32(u.Priority) ^ 1<<31, u.LastUse}
}

// policies makes each policy by its name.
var policies = map[string]func() Policy{
	"lru":      func() Policy { return LRU{} },
	"lfu":      func() Policy { return LFU{} },
	"slru":     func() Policy { return SLRU{} },
	"fifo":     func() Policy { return FIFO{} },
	"mru":      func() Policy { return MRU{} },
	"filo":     func() Policy { return FILO{} },
	"priority": func() Policy { return Priority{} },
	"gittins":  func() Policy { return NewGittins() },
}

// PolicyNames lists the names that PolicyByName takes, sorted.
func PolicyNames() []string {
	names := make([]string, 0, len(policies))
	for name := range policies {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// PolicyByName makes a policy. An unknown name is an error that lists the known
// ones.
func PolicyByName(name string) (Policy, error) {
	build := policies[name]
	if build == nil {
		return nil, fmt.Errorf("eviction policy %q is not known; choose one of %s", name, strings.Join(PolicyNames(), ", "))
	}
	return build(), nil
}

// HistoryFor is the TreeOptions.History that a policy should have beside a pool
// of so many pages: gittins learns from pages that come back after they were
// evicted, and recognises their conversations. 0 for all others.
func HistoryFor(name string, pages int) int {
	if name != "gittins" {
		return 0
	}
	return historyShare * pages
}

// historyShare was measured: at 2 a small pool loses a third of what gittins
// gains over lru, and more than 8 brings nothing.
const historyShare = 4
