package sched

import (
	"slices"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// Thresholds of in-batch prefix awareness in tokens, SGLang's
// IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD and ..._DEPRIORITIZE_THRESHOLD: it
// concerns requests that have no more than the first in the cache and share at
// least the second beyond that.
const (
	inBatchCheckTokens = 32
	inBatchShareTokens = 32
)

// releaseBatch bounds the followers that one offer looks at, and
// releaseTokens the tokens that it compares for them.
const (
	releaseBatch  = 256
	releaseTokens = 1 << 16
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
	opening     []*group                      // their followers go back to fresh
}

// hint is what lpm knows about a request.
type hint struct {
	state   hintState
	matched int // tokens in the cache
	// shared is how many first tokens are those of a leader that runs.
	shared int
	with   messages.RequestID
}

type hintState uint8

const (
	unasked hintState = iota
	offerable
	following
)

// group is the requests that share an uncached prefix. While its leader waits
// it is the earliest and the only one of them in main.
type group struct {
	key       uint64
	leader    *waiter
	followers ordered[*waiter]
	running   bool // the leader is claimed
	done      bool // and has its prompt computed, or has ended
	offers    int  // asked for since then
	cursor    int  // where the next search for followers to let go begins
}

func newLPM(page int) *lpm {
	p := &lpm{
		page: page, share: (inBatchShareTokens + page - 1) / page * page,
		main: newOrder(byRank), groups: map[uint64]*group{}, filling: map[messages.RequestID]*group{},
	}
	p.fresh.init()
	return p
}

func (p *lpm) paths() bool { return false }

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
	case following:
		g.followers.remove(w)
		if claimed && !g.running { // it was offered before it had to follow
			p.main.remove(g.leader)
			p.follow(g.leader, g)
			p.lead(w, g)
		}
	case offerable:
		p.main.remove(w)
		switch {
		case g == nil:
		case claimed:
			p.lead(w, g)
		default:
			p.succeed(g)
		}
	}
}

// lead has a group wait for a request that runs from now on.
func (p *lpm) lead(w *waiter, g *group) {
	g.leader, g.running = w, true
	p.filling[w.req.ID] = g
	p.byClaim = append(p.byClaim, g)
}

// succeed gives a group whose leader has left the next one.
func (p *lpm) succeed(g *group) {
	if g.followers.len() == 0 {
		delete(p.groups, g.key)
		return
	}
	g.leader = g.followers.first()
	g.followers.remove(g.leader)
	g.leader.hint.state = offerable
	p.main.push(g.leader)
}

func (p *lpm) head(dst []*waiter, n int, _ time.Duration) []*waiter {
	p.walk.start(&p.main)
	for ; n > 0; n-- {
		w, ok := p.walk.next()
		if !ok {
			break
		}
		dst = append(dst, w)
	}
	return dst
}

func (p *lpm) ask(dst []messages.PrefixPeek, n int) []messages.PrefixPeek {
	if n > 0 {
		p.open()
	}
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
	g := w.group
	w.group = nil
	switch w.hint.state {
	case unasked:
		p.fresh.remove(w)
	case following:
		g.followers.remove(w)
	case offerable:
		p.main.remove(w)
		if g != nil {
			// Its followers' prefixes are no longer as they were found either.
			g.offers = 1
			p.finishGroup(g)
		}
	}
	w.hint.matched = found.Tokens
	p.place(w)
}

// place gives a request whose hint is known its rank, or a leader to follow.
func (p *lpm) place(w *waiter) {
	w.rank = -int64(w.hint.matched)
	if shared := w.hint.matched + p.share; !w.req.Alone && w.hint.matched <= inBatchCheckTokens && w.limit >= shared {
		key := prefixKey(w.req.Namespace, w.tokens[:shared])
		g := p.groups[key]
		switch {
		case g == nil:
			g = &group{key: key, leader: w, followers: newOrder(earlier)}
			p.groups[key] = g
		case g.running || earlier(g.leader, w):
			p.follow(w, g)
			return
		default:
			p.main.remove(g.leader)
			p.follow(g.leader, g)
			g.leader = w
		}
		w.group = g
	}
	w.hint.state = offerable
	p.main.push(w)
}

func (p *lpm) follow(w *waiter, g *group) {
	w.hint.state, w.group = following, g
	g.followers.push(w)
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
		p.finishGroup(g)
	}
}

// finishGroup ends a group. Until it is opened, others still join it.
func (p *lpm) finishGroup(g *group) {
	g.running, g.done = true, true
	p.opening = append(p.opening, g)
}

// open sends followers of groups that are done back to be asked for. Not at the
// first offer after the results of a prompt: the plan that asks for it is the
// one that gives the prompt to the cache, after its candidates' prefixes were
// locked.
func (p *lpm) open() {
	left := releaseBatch
	p.opening = slices.DeleteFunc(p.opening, func(g *group) bool {
		if g.offers++; g.offers == 1 {
			return false
		}
		if p.groups[g.key] == g {
			delete(p.groups, g.key)
		}
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
	for ; seen < min(len(items), releaseBatch) && budget > 0; seen++ {
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
