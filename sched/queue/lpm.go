package queue

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// lpm offers the request with the longest cached prefix first, by hints.
//
// Of several that share a long prefix that is not cached, the one that came
// first leads. The others follow: they are not offered while it waits, nor
// while it runs and its prompt is not in the cache as far as they share it. So
// the prefix is computed once. SGLang only sorts them last.
//
// Each change costs O(log n), and O(inBatchCheckTokens + share) to find the
// group. An offer of k asks the cache for k requests and the leaders that run.
type lpm struct {
	page, share int // tokens
	fresh       newcomers
	main        ordered[*waiter] // may be offered, by byRank
	walk        walk[*waiter]
	groups      map[uint64]*group
	filling     map[messages.RequestID]*group // by leader, while it computes its prompt
	byClaim     []*group                      // the same
	ending      []*group                      // whose leader is through, or has another hint
}

// hint is what lpm knows about a request.
type hint struct {
	state   hintState
	matched int // tokens in the cache
	// shared is how many first tokens are those of a leader that runs.
	shared int
	with   messages.RequestID
	probe  *group // of a request asked for to learn about its group
}

type hintState uint8

const (
	unasked hintState = iota
	offerable
	following
)

func newLPM(page int) *lpm {
	p := &lpm{
		page: page, share: (inBatchShareTokens + page - 1) / page * page,
		main: newOrder(byRank), groups: map[uint64]*group{}, filling: map[messages.RequestID]*group{},
	}
	p.fresh.init()
	return p
}

func (p *lpm) pathNodes() int { return 0 }

func (p *lpm) add(w *waiter) {
	w.hint = hint{state: unasked}
	p.fresh.push(w)
}

func (p *lpm) remove(w *waiter, claimed bool) {
	g := w.group
	w.group = nil
	switch w.hint.state {
	case unasked:
		p.fresh.remove(w)
		if probed := w.hint.probe; probed != nil {
			p.end(probed, ending)
		}
	case following:
		g.followers.remove(w)
		if claimed && g.phase == led { // it was offered before it had to follow
			p.main.remove(g.leader)
			p.follow(g.leader, g)
			p.fill(w, g)
		}
	case offerable:
		p.main.remove(w)
		switch {
		case g == nil:
		case claimed:
			p.fill(w, g)
		default:
			p.succeed(g)
		}
	}
}

func (p *lpm) front() *waiter { return p.main.front() }

func (p *lpm) head(dst []*waiter, n int, _ time.Duration) []*waiter {
	p.walk.start(&p.main)
	return p.walk.take(dst, n)
}

func (p *lpm) ask(dst []messages.PrefixPeek, n int) []messages.PrefixPeek {
	p.dissolve(n > 0)
	dst = p.fresh.ask(dst)
	if n == 0 {
		return dst
	}
	p.walk.start(&p.main)
	for ; n > 0; n-- {
		w, ok := p.walk.next()
		if !ok {
			break
		}
		dst = append(dst, w.peek())
	}
	for _, g := range p.byClaim {
		if g.followers.len() > 0 {
			dst = append(dst, g.leader.peek())
		}
	}
	return dst
}

func (p *lpm) learn(w *waiter, found *messages.PrefixPeeked) {
	if g := p.filling[found.ID]; g != nil {
		p.release(g, found.Tokens)
		return
	}
	if w == nil || w.hint.state != unasked && w.hint.matched == found.Tokens {
		return
	}
	g, probed := w.group, w.hint.probe
	w.group, w.hint.probe = nil, nil
	switch w.hint.state {
	case unasked:
		p.fresh.remove(w)
	case following:
		g.followers.remove(w)
	case offerable:
		p.main.remove(w)
		if g != nil {
			p.end(g, drained) // its followers' prefixes have changed, too
		}
	}
	w.hint.matched = found.Tokens
	if probed != nil {
		if key, ok := p.key(w); ok && key == probed.key {
			w.rank = -int64(w.hint.matched)
			p.lead(w, probed)
			return
		}
		p.end(probed, drained)
	}
	p.place(w)
}

// place gives a request whose hint is known its rank, or a leader to follow.
func (p *lpm) place(w *waiter) {
	w.rank = -int64(w.hint.matched)
	key, ok := p.key(w)
	if !ok {
		w.hint.state = offerable
		p.main.push(w)
		return
	}
	g := p.groups[key]
	switch {
	case g == nil:
		g = &group{key: key, followers: newOrder(earlier)}
		p.groups[key] = g
	case g.phase == led && earlier(w, g.leader):
		p.main.remove(g.leader)
		p.follow(g.leader, g)
	default:
		p.follow(w, g)
		return
	}
	p.lead(w, g)
}

// results lets the followers of prompts that are computed go.
func (p *lpm) results(m *messages.StepResults) {
	for i := range m.Prompts {
		p.finish(m.Prompts[i].ID)
	}
	for i := range m.Ended {
		p.finish(m.Ended[i].ID)
	}
}

func (p *lpm) finish(id messages.RequestID) {
	if g := p.filling[id]; g != nil {
		delete(p.filling, id)
		p.byClaim = slices.DeleteFunc(p.byClaim, func(other *group) bool { return other == g })
		g.offers = 0
		p.end(g, ending)
	}
}
