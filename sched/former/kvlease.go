package former

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// LeaseState says what may happen to a lease.
//
//	LeaseNone → LeaseOpen → LeaseClosing → LeaseNone
type LeaseState uint8

// The states of a lease.
const (
	// LeaseNone holds nothing. It is the zero value.
	LeaseNone LeaseState = iota
	// LeaseOpen may be read and written by the steps that are launched.
	LeaseOpen
	// LeaseClosing gets no further step. Its row and pages are given back when
	// its last step is done; until then they count as leased.
	LeaseClosing
)

var leaseStateNames = [...]string{"none", "open", "closing"}

// String gives the name used in logs.
func (s LeaseState) String() string { return leaseStateNames[s] }

// Lease is what an admitted request holds of the two levels of the KV pools.
// It lives in the batch former, which is its only owner.
//
// Pages is the request's page table, in token order. Its parts:
//
//	[0, Owned)           belong to the radix tree, locked through Node
//	[Owned, len(Pages))  belong to the lease; the last may be partly filled
//
// Invariants: 0 <= Owned <= len(Pages), Owned = 0 exactly when Node is
// RootNode, Cached <= Owned * page size.
type Lease struct {
	State LeaseState
	Row   messages.Row
	Pages []messages.Page
	Owned int             // pages of Pages that the tree owns
	Node  messages.NodeID // locked for the request
	// Cached is how many tokens the cache had at admission, a whole number of
	// pages. It stays for the usage report when Owned grows.
	Cached int
	// LastStep is the newest launched step that reads or writes the lease.
	LastStep messages.StepID
}

// OpenLease starts a lease with a row and the prefix that the cache locked.
// It takes over the pages of the match by copy.
func OpenLease(row messages.Row, match messages.PrefixLocked, pageSize int) Lease {
	l := Lease{
		State: LeaseOpen, Row: row, Node: match.Node,
		Pages: slices.Clone(match.Pages), Owned: len(match.Pages), Cached: len(match.Pages) * pageSize,
	}
	l.check()
	return l
}

// Capacity is how many tokens the pages hold.
func (l *Lease) Capacity(pageSize int) int { return len(l.Pages) * pageSize }

// Missing is how many pages must be added to hold tokens tokens.
func (l *Lease) Missing(tokens, pageSize int) int {
	return max(0, paging.Pages(tokens, pageSize)-len(l.Pages))
}

// Slot is where the KV of the token at a position lives.
func (l *Lease) Slot(position, pageSize int) int {
	if position < 0 || position >= l.Capacity(pageSize) {
		invariants.Fail("row %d has no slot for position %d, it holds %d tokens", l.Row, position, l.Capacity(pageSize))
	}
	return int(l.Pages[position/pageSize])*pageSize + position%pageSize
}

// Private is the part of Pages that the lease owns; it counts as leased.
// A view, good until the lease changes.
func (l *Lease) Private() []messages.Page { return l.Pages[l.Owned:] }

// Grow appends pages that the allocator granted; they are copied.
func (l *Lease) Grow(pages []messages.Page) {
	l.mustBe(LeaseOpen, "grow")
	l.Pages = append(l.Pages, pages...)
}

// Inserted notes that the first pages pages were inserted with Keep and how it
// came out. It changes the page table where the tree had copies already and
// reports whether it did: then the device's row must be replaced, too.
func (l *Lease) Inserted(outcome messages.PrefixInserted, pages int) (replaced bool) {
	l.mustBe(LeaseOpen, "be inserted")
	if pages < l.Owned || pages > len(l.Pages) {
		invariants.Fail("row %d inserted %d pages of %d", l.Row, pages, len(l.Pages))
	}
	if len(outcome.Pages) > 0 && (outcome.First != l.Owned || outcome.First+len(outcome.Pages) > pages) {
		invariants.Fail("row %d replaces %d pages from %d on, owns %d", l.Row, len(outcome.Pages), outcome.First, l.Owned)
	}
	copy(l.Pages[outcome.First:], outcome.Pages)
	l.Owned, l.Node = pages, outcome.Node
	l.check()
	return len(outcome.Pages) > 0
}

// Launch notes a step that reads or writes the lease.
func (l *Lease) Launch(step messages.StepID) {
	l.mustBe(LeaseOpen, "be launched")
	if step <= l.LastStep {
		invariants.Fail("row %d launched in step %d after %d", l.Row, step, l.LastStep)
	}
	l.LastStep = step
}

// Settled reports whether no step after done can still touch the lease, so
// that its row and pages may be freed or replaced. done is the newest step whose
// BatchDone has come.
func (l *Lease) Settled(done messages.StepID) bool { return l.LastStep <= done }

// Close ends the lease's use; a closing lease stays closing.
func (l *Lease) Close() {
	if l.State == LeaseNone {
		invariants.Fail("row %d closed without a lease", l.Row)
	}
	l.State = LeaseClosing
}

// Release empties a closing lease and returns what its owner must give back:
// the row, the private pages and the node to unlock. An owner that inserts the
// prefix instead of dropping it frees only what it does not insert. done is
// the fence, as in Settled.
func (l *Lease) Release(done messages.StepID) (messages.Row, []messages.Page, messages.NodeID) {
	l.mustBe(LeaseClosing, "be released")
	if !l.Settled(done) {
		invariants.Fail("row %d released after step %d, in use until %d", l.Row, done, l.LastStep)
	}
	row, pages, node := l.Row, l.Private(), l.Node
	*l = Lease{}
	return row, pages, node
}

func (l *Lease) mustBe(s LeaseState, what string) {
	if l.State != s {
		invariants.Fail("row %d, lease %s, cannot %s", l.Row, l.State, what)
	}
}

func (l *Lease) check() {
	if (l.Owned == 0) != (l.Node == messages.RootNode) || l.Owned > len(l.Pages) {
		invariants.Fail("row %d: %d of %d pages owned through node %#x", l.Row, l.Owned, len(l.Pages), uint64(l.Node))
	}
}
