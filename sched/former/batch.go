package former

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// batch is the running batch, with the retracted sequences that will come back to it.
//
// Invariants:
//
//  4. byID holds the running sequences whose end is not reported, the retracted
//     ones, and nothing else. running is in order of admission, retracted in the
//     order of Options.resumeOrder.
//  5. scheduled tokens have pages, done tokens include those of the tree's pages;
//     a decoding sequence has all tokens but the newest scheduled.
//  7. While a request must run alone, it is the only one that runs.
type batch struct {
	opt       *Options
	byID      map[messages.RequestID]*sequence
	byRow     []*sequence // [MaxRunning]; nil: no sequence has the row
	running   []*sequence // those with a lease
	retracted []*sequence
	closing   int // running sequences that are cancelled or closing
}

func newBatch(opt *Options) batch {
	return batch{opt: opt, byID: make(map[messages.RequestID]*sequence), byRow: make([]*sequence, opt.MaxRunning)}
}

// active is how many sequences take part in steps to come.
func (b *batch) active() int { return len(b.running) - b.closing }

// late is how many of them wait for a mask.
func (b *batch) late() (n int) {
	for _, s := range b.running {
		if s.late && s.active() {
			n++
		}
	}
	return n
}

// alone reports whether a running request must run alone.
func (b *batch) alone() bool { return slices.ContainsFunc(b.running, (*sequence).alone) }

func (b *batch) at(row messages.Row) *sequence {
	invariants.Check(row >= 0 && int(row) < len(b.byRow) && b.byRow[row] != nil, "results for row %d, which no request has", row)
	return b.byRow[row]
}

// admit gives a sequence its row and the prefix that the cache has locked: a new
// sequence, or the first of the retracted ones.
func (b *batch) admit(s *sequence, row messages.Row, match *messages.PrefixLocked, now time.Duration) {
	if s.state == candidate {
		b.byID[s.req.ID] = s
	} else {
		invariants.Check(b.retracted[0] == s, "request %d is admitted before request %d, which was retracted", s.req.ID, b.retracted[0].req.ID)
		b.retracted = slices.Delete(b.retracted, 0, 1)
	}
	if s.aged = false; b.opt.overdue(s, now) {
		s.protectedUntil = now + b.opt.Aging
	}
	s.start(row, *match, b.opt.PageSize)
	b.byRow[row] = s
	b.running = append(b.running, s)
}

func (b *batch) prune(state seqState) {
	b.running = slices.DeleteFunc(b.running, func(s *sequence) bool { return s.state == state })
}

// retract puts a sequence without a lease among the retracted. The caller prunes running.
func (b *batch) retract(s *sequence, now time.Duration) {
	s.state, s.waitingSince = retracted, now
	if !s.reported {
		s.prompts = nil // they are computed again
	}
	at, _ := slices.BinarySearchFunc(b.retracted, s, b.opt.resumeOrder)
	b.retracted = slices.Insert(b.retracted, at, s)
}

// age moves retracted sequences to the front that have waited for Aging.
func (b *batch) age(now time.Duration) {
	moved := false
	for _, s := range b.retracted {
		if !s.aged && b.opt.overdue(s, now) {
			s.aged, moved = true, true
		}
	}
	if moved {
		slices.SortFunc(b.retracted, b.opt.resumeOrder)
	}
}

// drop forgets a sequence that has ended and has no lease. The caller prunes running.
func (b *batch) drop(s *sequence) {
	if s.state == retracted {
		b.retracted = slices.DeleteFunc(b.retracted, func(other *sequence) bool { return other == s })
	}
	s.state = gone
	delete(b.byID, s.req.ID)
}

// check is invariants 4, 5 and 7.
func (b *batch) check() {
	ending, reported := 0, 0
	for _, s := range b.running {
		b.checkRunning(s)
		switch s.state {
		case cancelled:
			ending++
		case closing:
			ending, reported = ending+1, reported+1
		}
	}
	invariants.Check(ending == b.closing, "4: %d sequences are cancelled or closing, %d counted", ending, b.closing)
	invariants.Check(len(b.byID) == len(b.running)-reported+len(b.retracted),
		"4: %d sequences by id, %d run, %d of them ended, %d are retracted", len(b.byID), len(b.running), reported, len(b.retracted))
	for i, s := range b.retracted {
		invariants.Check(s.state == retracted && b.byID[s.req.ID] == s && (i == 0 || b.opt.resumeOrder(b.retracted[i-1], s) < 0),
			"4: request %d is %s and retracted number %d", s.req.ID, s.state, i)
	}
	invariants.Check(!b.alone() || len(b.running) == 1, "7: a request that must run alone is one of %d", len(b.running))
}

func (b *batch) checkRunning(s *sequence) {
	id, size, context := s.req.ID, b.opt.PageSize, b.opt.ContextLength
	invariants.Check(s.active() || s.state == cancelled || s.state == closing, "4: request %d is %s and in the list of running ones", id, s.state)
	invariants.Check((b.byID[id] == s) == (s.state != closing) && b.byRow[s.lease.Row] == s, "4: request %d, %s, does not have row %d", id, s.state, s.lease.Row)
	invariants.Check(s.done <= s.scheduled && s.scheduled <= s.lease.Capacity(size) && s.lease.Owned*size <= s.done,
		"5: request %d has %d tokens, %d scheduled, %d done, on %d pages, %d of them the tree's", id, len(s.tokens), s.scheduled, s.done, len(s.lease.Pages), s.lease.Owned)
	invariants.Check(!s.active() || s.scheduled < s.length() && (s.state == decoding && s.scheduled == s.length()-1 || s.state == prefilling && s.pending == 0),
		"5: request %d is %s with %d of %d tokens scheduled, %d pending", id, s.state, s.scheduled, s.length(), s.pending)
	invariants.Check(!s.active() || s.ahead(context) >= 0, "5: request %d has %d tokens pending, %d are left", id, s.pending, s.left(context))
}
