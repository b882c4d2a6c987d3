package queue

import (
	"time"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
)

// lpm offers the request with the longest cached prefix first, according to hints.
//
// Requests that share a long prefix that is not cached form a group. The earliest
// leads. The others follow: they are not offered while the leader waits, nor while it
// runs and the part of its prompt that they share is not cached. So the prefix is
// computed once. SGLang only sorts the others last.
//
// A change costs O(log n), plus O(inBatchCheckTokens + share) to find the group.
// An offer of k asks the cache for k requests and the running leaders.
type lpm struct {
	page, share int                           // tokens
	fresh       list                          // requests without a hint, by arrival; not offered yet
	main        list                          // may be offered, by byRank
	groups      map[uint64]*group             // by key
	filling     map[messages.RequestID]*group // phase filled, by leader
	byClaim     []*group                      // the same, in the order of their claims
	ending      []*group                      // phases ending and drained
}

// maxPeeks bounds the new requests of one PeekPrefixes; those near the head come on top.
const maxPeeks = 256

func newLPM(page int) *lpm {
	return &lpm{
		page: page, share: paging.Pages(inBatchShareTokens, page) * page,
		fresh: list{heap: newOrder(earlier)}, main: list{heap: newOrder(byRank)},
		groups: map[uint64]*group{}, filling: map[messages.RequestID]*group{},
	}
}

func (p *lpm) pathNodes() int { return 0 }

func (p *lpm) add(w *waiter) { p.renew(w) }

func (p *lpm) remove(w *waiter, claimed bool) {
	h := hintOf(w)
	g := h.group
	h.group = nil
	switch h.state {
	case unasked:
		p.fresh.remove(w)
		if h.probe != nil {
			p.end(h.probe, ending)
		}
	case following:
		g.followers.remove(w)
		if claimed && g.phase == led { // it was offered before it became a follower
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
	return p.main.take(dst, n)
}

func (p *lpm) ask(dst []*waiter, n int) []*waiter {
	p.dissolve(n > 0)
	dst = p.main.take(p.fresh.take(dst, maxPeeks), n)
	for _, g := range p.byClaim {
		if n > 0 && g.followers.len() > 0 {
			dst = append(dst, g.leader)
		}
	}
	return dst
}

func (p *lpm) learn(w *waiter, found *messages.PrefixPeeked) {
	if g := p.filling[found.ID]; g != nil {
		p.release(g, found.Tokens)
		return
	}
	if w == nil {
		return
	}
	h := hintOf(w)
	if h.state != unasked && h.matched == found.Tokens {
		return
	}
	g, probed := h.group, h.probe
	h.group, h.probe = nil, nil
	switch h.state {
	case unasked:
		p.fresh.remove(w)
	case following:
		g.followers.remove(w)
	case offerable:
		p.main.remove(w)
		if g != nil {
			p.end(g, drained) // what is cached has changed for its followers as well
		}
	}
	h.matched = found.Tokens
	if probed != nil {
		if key, ok := p.key(w); ok && key == probed.key {
			w.rank = -int64(h.matched)
			p.follow(w, probed)
			p.succeed(probed) // by w, unless one that has waited longer was submitted again
			return
		}
		p.end(probed, drained)
	}
	p.place(w)
}

// results ends the groups whose leader's prompt is computed.
func (p *lpm) results(m *messages.StepResults) {
	for i := range m.Prompts {
		p.finish(m.Prompts[i].ID)
	}
	for i := range m.Ended {
		p.finish(m.Ended[i].ID)
	}
}
