package queue

import (
	"slices"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/internal/splitmix"
	"github.com/troupe-engine/troupe/messages"
)

// hint is waiter.state under lpm.
type hint struct {
	state   hintState
	matched int    // cached tokens
	group   *group // that it leads or follows; else nil
	// shared is how many tokens it shares with the running leader with.
	shared int
	with   messages.RequestID
	probe  *group // the group whose followers depend on this request's next hint
}

type hintState uint8

const (
	unasked   hintState = iota // in fresh
	offerable                  // in main
	following                  // in followers of its group
)

func hintOf(w *waiter) *hint { return w.state.(*hint) }

// Thresholds of in-batch prefix sharing in tokens, SGLang's
// IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD and ..._DEPRIORITIZE_THRESHOLD: a group's
// requests have at most the first in the cache and share at least the second more.
const (
	inBatchCheckTokens = 32
	inBatchShareTokens = 32
)

// releaseBatch bounds the followers that one offer examines, in all groups
// together. releaseTokens bounds the tokens compared for one group.
const (
	releaseBatch  = 256
	releaseTokens = 1 << 16
)

// group is a set of requests with a common uncached prefix, open until it is drained.
type group struct {
	key       uint64
	phase     groupPhase
	leader    *waiter // in phases led and filled
	followers heap[*waiter]
	offers    int // since phase ending began
	cursor    int // where release continues
}

// groupPhase is what the followers of a group wait for.
//
//	led → filled → ending → probed → led or drained
type groupPhase uint8

const (
	led     groupPhase = iota // the leader, the earliest of the group, waits in main
	filled                    // the leader runs and computes its prompt
	ending                    // its prompt is computed, or it has ended
	probed                    // the cache is asked for the first follower
	drained                   // what is cached has changed: all followers are asked for again
)

// renew makes a request a newcomer, whose hint is asked for.
func (p *lpm) renew(w *waiter) {
	if w.state == nil {
		w.state = new(hint)
	}
	*hintOf(w) = hint{state: unasked}
	p.fresh.push(w)
}

// place gives a request with a new hint its rank, or a leader to follow.
func (p *lpm) place(w *waiter) {
	h := hintOf(w)
	w.rank = -int64(h.matched)
	key, ok := p.key(w)
	if !ok {
		h.state = offerable
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

// lead makes a request the leader of its group, which may be offered.
func (p *lpm) lead(w *waiter, g *group) {
	h := hintOf(w)
	h.group, h.state = g, offerable
	g.leader, g.phase = w, led
	p.main.push(w)
}

func (p *lpm) follow(w *waiter, g *group) {
	h := hintOf(w)
	h.state, h.group = following, g
	g.followers.push(w)
}

// fill makes a group wait for a leader that was just claimed.
func (p *lpm) fill(w *waiter, g *group) {
	g.leader, g.phase = w, filled
	p.filling[w.req.ID] = g
	p.byClaim = append(p.byClaim, g)
}

// succeed replaces a waiting leader that has left.
func (p *lpm) succeed(g *group) {
	if g.followers.len() == 0 {
		p.forget(g)
		return
	}
	w := g.followers.first()
	g.followers.remove(w)
	p.lead(w, g)
}

func (p *lpm) forget(g *group) {
	if p.groups[g.key] == g {
		delete(p.groups, g.key)
	}
}

// key identifies a request's group by the prefix that it shares; not ok if it joins none.
func (p *lpm) key(w *waiter) (key uint64, ok bool) {
	matched := hintOf(w).matched
	shared := matched + p.share
	if w.req.Alone || matched > inBatchCheckTokens || w.limit < shared {
		return 0, false
	}
	return prefixKey(w.req.Namespace, w.tokens[:shared]), true
}

// end lets a group go, in phase ending or drained; dissolve does the rest.
func (p *lpm) end(g *group, phase groupPhase) {
	g.phase, g.leader = phase, nil
	p.ending = append(p.ending, g)
}

func (p *lpm) finish(id messages.RequestID) {
	if g := p.filling[id]; g != nil {
		delete(p.filling, id)
		p.byClaim = slices.DeleteFunc(p.byClaim, func(other *group) bool { return other == g })
		g.offers = 0
		p.end(g, ending)
	}
}

// dissolve advances the groups that end. First the cache is asked for one follower,
// which leads if nothing new is cached, because the leader was cancelled. This is not
// done at the first offer after the results of a prompt: the plan of that offer inserts
// the prompt, but only after it has locked the prefixes of its candidates.
func (p *lpm) dissolve(offer bool) {
	left := releaseBatch
	p.ending = slices.DeleteFunc(p.ending, func(g *group) bool {
		if g.phase == ending {
			if offer {
				g.offers++
			}
			switch {
			case g.offers < 2:
				return false
			case g.followers.len() == 0:
				p.forget(g)
			default:
				w := g.followers.first()
				p.askAgain(w)
				hintOf(w).probe, g.phase = g, probed
			}
			return true
		}
		p.forget(g)
		for ; left > 0 && g.followers.len() > 0; left-- {
			p.askAgain(g.followers.first())
		}
		return g.followers.len() == 0
	})
}

func (p *lpm) askAgain(w *waiter) {
	hintOf(w).group.followers.remove(w)
	p.renew(w)
}

// release frees the followers for which enough of a running leader's prompt is cached
// (cached tokens). It examines a part of a long list and continues there the next time.
func (p *lpm) release(g *group, cached int) {
	items := g.followers.items
	var free []*waiter
	budget := releaseTokens
	seen := 0
	for ; seen < min(len(items), max(8, releaseBatch/len(p.byClaim))) && budget > 0; seen++ {
		w := items[(g.cursor+seen)%len(items)]
		h := hintOf(w)
		if h.with != g.leader.req.ID {
			h.with, h.shared = g.leader.req.ID, paging.CommonPrefix(w.tokens[:w.limit], g.leader.tokens)
			budget -= h.shared
		}
		if h.shared/p.page*p.page <= cached {
			free = append(free, w)
		}
	}
	g.cursor += seen
	for _, w := range free {
		p.askAgain(w)
	}
	if n := g.followers.len(); n > 0 {
		g.cursor %= n
	}
}

// prefixKey hashes a prefix. After a collision, a request waits for another one
// with which it shares nothing; no result changes.
func prefixKey(namespace string, tokens []int32) uint64 {
	h := splitmix.Mix(uint64(len(tokens)))
	for i := range len(namespace) {
		h = splitmix.Mix(h ^ uint64(namespace[i]))
	}
	h = splitmix.Mix(h + splitmix.Step)
	for _, token := range tokens {
		h = splitmix.Mix(h ^ uint64(uint32(token)))
	}
	return h
}
