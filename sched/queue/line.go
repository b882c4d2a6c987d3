package queue

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// line is all who wait: those that the policy orders, and before them those
// that go first whatever it says, because they have waited for long or because
// everybody already makes place for them.
//
// Invariants:
//
//  1. A request of all is either in first, or with the policy and, when there
//     is aging, in young.
//  2. first is ordered by arrival, the stuck ones before it.
type line struct {
	policy policy
	aging  time.Duration // 0: never
	all    map[messages.RequestID]*waiter
	young  ordered[*waiter] // by arrival: the first one ages next
	first  ordered[*waiter]
	walk   walk[*waiter]
}

// newLine returns an empty line. Arrival needs no aging, and fair shares look
// after their tenants themselves.
func newLine(opt Options) *line {
	l := &line{policy: opt.policy(), aging: opt.Aging, all: map[messages.RequestID]*waiter{}}
	if p := opt.Effective(); p == "fcfs" || p == "fair" {
		l.aging = 0
	}
	place := func(w *waiter) *int32 { return &w.inLine }
	l.young = ordered[*waiter]{less: earlier, place: place}
	l.first = ordered[*waiter]{place: place, less: func(a, b *waiter) bool {
		if a.stuck != b.stuck {
			return a.stuck
		}
		return earlier(a, b)
	}}
	return l
}

func (l *line) len() int { return len(l.all) }

func (l *line) add(r *messages.EngineRequest) {
	invariants.Check(l.all[r.ID] == nil, "request %d is enqueued twice", r.ID)
	w := &waiter{req: r, tokens: r.Prompt}
	if len(r.Output) > 0 {
		w.tokens = append(append(make([]int32, 0, r.Len()), r.Prompt...), r.Output...)
	}
	w.limit = r.MatchLimit(len(w.tokens), false)
	l.all[r.ID] = w
	l.policy.add(w)
	if l.aging > 0 {
		l.young.push(w)
	}
}

// remove returns the request with an id, nil if it is not there.
func (l *line) remove(id messages.RequestID, claimed bool) *messages.EngineRequest {
	w := l.all[id]
	if w == nil {
		return nil
	}
	if l.isFirst(w) {
		l.first.remove(w)
	} else {
		l.leave(w, claimed)
	}
	delete(l.all, id)
	return w.req
}

// isFirst reports whether a request goes first whatever the policy says. Under
// fair a request may be aged and yet stay with the policy.
func (l *line) isFirst(w *waiter) bool { return w.stuck || l.aging > 0 && w.aged }

func (l *line) leave(w *waiter, claimed bool) {
	l.policy.remove(w, claimed)
	if l.aging > 0 {
		l.young.remove(w)
	}
}

// age moves those that have waited for long enough to the front. It costs
// O(log n) for each, once.
func (l *line) age(now time.Duration) {
	for l.aging > 0 && l.young.len() > 0 && now-l.young.first().req.Arrived >= l.aging {
		w := l.young.first()
		l.leave(w, false)
		w.aged = true
		l.first.push(w)
	}
}

// head appends the first n requests that may run.
func (l *line) head(dst []*waiter, n int, now time.Duration) []*waiter {
	l.age(now)
	l.walk.start(&l.first)
	full := len(dst) + n
	if dst = l.walk.take(dst, n); len(dst) == full {
		return dst
	}
	return l.policy.head(dst, full-len(dst), now)
}

// offered notes what was offered. Whoever tolerates no other request and has
// been near the front stays there: the batch former empties the engine for it,
// which must not be for nothing when somebody better ranked arrives.
func (l *line) offered(head []*waiter) (aged int) {
	for _, w := range head {
		if w.aged && !w.counted {
			w.counted = true
			aged++
		}
		if w.req.Alone && !w.stuck {
			if l.isFirst(w) {
				l.first.remove(w)
			} else {
				l.leave(w, false)
			}
			w.stuck = true
			l.first.push(w)
		}
	}
	return aged
}
