package former

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// leaseState says what may happen to a lease.
//
//	leaseNone → leaseOpen → leaseClosing → leaseNone
type leaseState uint8

const (
	leaseNone    leaseState = iota // holds nothing
	leaseOpen                      // launched steps may read and write it
	leaseClosing                   // gets no further step; its row and pages count as leased until its last step is done
)

var leaseStateNames = [...]string{"none", "open", "closing"}

func (s leaseState) String() string { return leaseStateNames[s] }

// Lease is what an admitted request holds of the KV pool: a row and its pages. Pages is
// the request's page table, in token order. Its parts:
//
//	[0, Owned)           belong to the radix tree, locked through Node
//	[Owned, len(Pages))  belong to the lease; the last may be partly filled
//
// Invariants: 0 <= Owned <= len(Pages), Owned = 0 exactly when Node is
// RootNode, Cached <= Owned * page size.
type Lease struct {
	state leaseState
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

// OpenLease starts a lease with a row and a copy of the locked prefix's pages.
func OpenLease(row messages.Row, match messages.PrefixLocked, pageSize int) Lease {
	l := Lease{
		state: leaseOpen, Row: row, Node: match.Node,
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

// Private is the part of Pages that the lease owns. A view, valid until the lease changes.
func (l *Lease) Private() []messages.Page { return l.Pages[l.Owned:] }

// Grow appends pages that the allocator granted; they are copied.
func (l *Lease) Grow(pages []messages.Page) {
	l.mustBe(leaseOpen, "grow")
	l.Pages = append(l.Pages, pages...)
}

// Inserted records the outcome of inserting the first pages with Keep. Where the tree
// already had these pages, the page table takes the tree's. It reports whether it did:
// the row on the device needs the same change.
func (l *Lease) Inserted(outcome messages.PrefixInserted, pages int) (replaced bool) {
	l.mustBe(leaseOpen, "be inserted")
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

func (l *Lease) Launch(step messages.StepID) {
	l.mustBe(leaseOpen, "be launched")
	if step <= l.LastStep {
		invariants.Fail("row %d launched in step %d after %d", l.Row, step, l.LastStep)
	}
	l.LastStep = step
}

// Settled reports whether the last step that uses the lease is done, so that its row
// and pages may be freed or replaced. done is the fence.
func (l *Lease) Settled(done messages.StepID) bool { return l.LastStep <= done }

// Close ends the use of the lease. A closing lease stays closing.
func (l *Lease) Close() {
	if l.state == leaseNone {
		invariants.Fail("row %d closed without a lease", l.Row)
	}
	l.state = leaseClosing
}

// Release empties a closing lease and returns row, private pages and node to give back.
func (l *Lease) Release(done messages.StepID) (messages.Row, []messages.Page, messages.NodeID) {
	l.mustBe(leaseClosing, "be released")
	if !l.Settled(done) {
		invariants.Fail("row %d released after step %d, in use until %d", l.Row, done, l.LastStep)
	}
	row, pages, node := l.Row, l.Private(), l.Node
	*l = Lease{}
	return row, pages, node
}

func (l *Lease) mustBe(s leaseState, what string) {
	if l.state != s {
		invariants.Fail("row %d, lease %s, cannot %s", l.Row, l.state, what)
	}
}

func (l *Lease) check() {
	if (l.Owned == 0) != (l.Node == messages.RootNode) || l.Owned > len(l.Pages) {
		invariants.Fail("row %d: %d of %d pages owned through node %#x", l.Row, l.Owned, len(l.Pages), uint64(l.Node))
	}
}
