package queue

import "slices"

// Thresholds of in-batch prefix awareness in tokens, SGLang's
// IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD and ..._DEPRIORITIZE_THRESHOLD: it
// concerns requests that have no more than the first in the cache and share at
// least the second beyond that.
const (
	inBatchCheckTokens = 32
	inBatchShareTokens = 32
)

// releaseBatch bounds the followers that one offer looks at, in all groups
// together, and releaseTokens the tokens that it compares for those of one.
const (
	releaseBatch  = 256
	releaseTokens = 1 << 16
)

// group is the requests that share an uncached prefix. Others join it until it
// is drained.
type group struct {
	key       uint64
	phase     groupPhase
	leader    *waiter // while led or filled
	followers ordered[*waiter]
	offers    int // asked for since it is ending
	cursor    int // where the next search for followers to let go begins
}

// groupPhase is what the followers of a group wait for.
//
//	led → filled → ending → probed → led or drained
type groupPhase uint8

const (
	led     groupPhase = iota // the leader waits: the earliest, alone of them in main
	filled                    // the leader runs
	ending                    // its prompt is computed, or it has ended
	probed                    // the first of them is asked for
	drained                   // all of them are, since what is cached has changed
)

// fill has a group wait for a request that runs from now on.
func (p *lpm) fill(w *waiter, g *group) {
	g.leader, g.phase = w, filled
	p.filling[w.req.ID] = g
	p.byClaim = append(p.byClaim, g)
}

// succeed gives a group whose leader has left the next one.
func (p *lpm) succeed(g *group) {
	if g.followers.len() == 0 {
		p.forget(g)
		return
	}
	w := g.followers.first()
	g.followers.remove(w)
	p.lead(w, g)
}

// lead makes a request the one of its group that may be offered.
func (p *lpm) lead(w *waiter, g *group) {
	w.group, g.leader, g.phase = g, w, led
	w.hint.state = offerable
	p.main.push(w)
}

func (p *lpm) forget(g *group) {
	if p.groups[g.key] == g {
		delete(p.groups, g.key)
	}
}

// key is what a request has in common with its group; false when it goes on its
// own.
func (p *lpm) key(w *waiter) (uint64, bool) {
	shared := w.hint.matched + p.share
	if w.req.Alone || w.hint.matched > inBatchCheckTokens || w.limit < shared {
		return 0, false
	}
	return prefixKey(w.req.Namespace, w.tokens[:shared]), true
}

func (p *lpm) follow(w *waiter, g *group) {
	w.hint.state, w.group = following, g
	g.followers.push(w)
}

// end begins the end of a group.
func (p *lpm) end(g *group, phase groupPhase) {
	g.phase, g.leader = phase, nil
	p.ending = append(p.ending, g)
}

// dissolve goes on with the groups that end. Of the followers one is asked for
// first: if nothing new is cached, since the leader was cancelled, it leads. Not
// at the first offer after the results of a prompt: the plan that asks for it is
// the one that gives the prompt to the cache, after its candidates' prefixes
// were locked.
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
				p.retry(w)
				w.hint.probe, g.phase = g, probed
			}
			return true
		}
		p.forget(g)
		for ; left > 0 && g.followers.len() > 0; left-- {
			p.retry(g.followers.first())
		}
		return g.followers.len() == 0
	})
}

// retry has a follower asked for again.
func (p *lpm) retry(w *waiter) {
	w.group.followers.remove(w)
	w.group = nil
	p.add(w)
}

// release lets those followers go whose share of a running leader's prompt is
// in the cache, cached being how much of the prompt is. It looks at a part of a
// long list only, at another one the next time.
func (p *lpm) release(g *group, cached int) {
	items := g.followers.items
	var free []*waiter
	budget := releaseTokens
	seen := 0
	for ; seen < min(len(items), max(8, releaseBatch/len(p.byClaim))) && budget > 0; seen++ {
		w := items[(g.cursor+seen)%len(items)]
		h := &w.hint
		if h.with != g.leader.req.ID {
			h.with, h.shared = g.leader.req.ID, commonPrefix(w.tokens[:w.limit], g.leader.tokens)
			budget -= h.shared
		}
		if h.shared/p.page*p.page <= cached {
			free = append(free, w)
		}
	}
	g.cursor += seen
	for _, w := range free {
		p.retry(w)
	}
	if n := g.followers.len(); n > 0 {
		g.cursor %= n
	}
}

// commonPrefix is the length of the longest common prefix of a and b.
func commonPrefix(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// prefixKey hashes a prefix. A collision makes a request wait for another one
// with which it shares nothing, and costs no more.
func prefixKey(namespace string, tokens []int32) uint64 {
	h := scramble(uint64(len(tokens)))
	for i := range len(namespace) {
		h = scramble(h ^ uint64(namespace[i]))
	}
	h = scramble(h + 0x9e3779b97f4a7c15)
	for _, token := range tokens {
		h = scramble(h ^ uint64(uint32(token)))
	}
	return h
}
