package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/internal/splitmix"
	"github.com/troupe-engine/troupe/messages"
)

const (
	CacheAware  = "cache-aware"
	LeastLoaded = "least-loaded"
	RoundRobin  = "round-robin"
	Random      = "random"
)

// Policies are the names of the policies, the default first.
func Policies() []string { return []string{CacheAware, LeastLoaded, RoundRobin, Random} }

type Options struct {
	// Policy is one of Policies; "" means cache-aware.
	Policy string
	// Replicas is the number of replicas at first, all available; 0 to 65536. Others join.
	Replicas int
	// PageSize is the number of tokens per hash of a request, a power of two; example 64.
	PageSize int
	// MaxPages bounds the pages in the index, over all replicas. The least recently used
	// ones are dropped first. 0 means as many as 128 MiB hold: about 1.9 million for up to
	// 64 replicas, 700,000 for 1,000.
	MaxPages int
	// Seed is for the random policy, and for routers that share replicas: each should have
	// its own.
	Seed uint64
}

const (
	defaultIndexBytes = 128 << 20
	maxReplicas       = 1 << 16
)

// decodeWeight is the cost of a context token of a running request, relative to a
// prompt token that is not yet computed: the time for the rest of a request's output
// divided by the time for its prompt. An 8B model on an H200 reads the KV of 640 tokens
// in the time it takes to compute one (docs/simulator.md), so 350 output tokens cost
// half as much as the prompt, and on average half of them are still ahead.
const decodeWeight = 0.25

func (o *Options) Validate() error {
	switch {
	case o.Policy != "" && !slices.Contains(Policies(), o.Policy):
		return fmt.Errorf("routing %q is not known; use one of %s", o.Policy, strings.Join(Policies(), ", "))
	case o.Replicas < 0 || o.Replicas > maxReplicas:
		return fmt.Errorf("router: Replicas is %d; it must be between 0 and %d", o.Replicas, maxReplicas)
	case paging.CheckSize(o.PageSize) != nil:
		return fmt.Errorf("router: PageSize %w", paging.CheckSize(o.PageSize))
	case o.MaxPages < 0:
		return fmt.Errorf("router: MaxPages is %d; it must be at least 0", o.MaxPages)
	}
	return nil
}

type Request struct {
	ID     messages.RequestID
	Tokens int // of the prompt, at least 1
	// Pages are the chained hashes of the prompt's whole pages, in order. Each
	// covers its page and all pages before it. Only cache-aware needs them.
	Pages []uint64
	// Fits reports whether a replica may get the request; nil: any may.
	Fits func(replica int) bool
}

// Route is the replica chosen for a request.
type Route struct {
	Replica int
	Matched int // pages of the prompt that the replica holds, according to the index
}

// Load is the load of a replica by this router.
type Load = messages.EngineLoad

// Report is what a replica says of itself.
type Report struct {
	Others Load    // its requests that come from other routers
	Speed  float64 // prompt tokens that it computes in a second; 0: not measured
}

// alike is the ratio up to which speeds count as equal. Engines on equal devices measure
// different ones, by their prompts, and the fastest would get every request while it is idle.
const alike = 1.5

// Router chooses a replica for each request.
//
// The cache-aware policy chooses the replica where the first token is expected
// first. The cost is a time, or counted in tokens until a replica has reported its speed:
//
//	cost = (tokens of the prompt not matched
//	      + tokens of earlier requests not yet computed
//	      + decodeWeight × context of the running requests) / speed
//
// Earlier requests are this router's, which it counts itself, and those of others, as
// reported. A replica without a measured speed has the mean of the others, and so has one
// that is not much faster or slower. So a match counts for exactly the work it saves, and a replica whose queue is shorter
// by more than that wins. No thresholds need tuning for the number of replicas and the
// length of prompts (SGLang's router has three). Of equal costs the lower load wins, then
// the fewest pages in the index, then the next one in turn. While other routers send requests
// to the same replicas, part of the choice is random.
//
// A request is charged and its prompt enters the index when it is routed. So a burst
// spreads over the replicas, and a second request with the same prefix follows the
// first. Events of the replica's cache correct the index.
type Router struct {
	opt      Options
	replicas []replica
	requests map[messages.RequestID]routed
	index    pageIndex
	turn     int    // the next replica, for round robin and ties
	random   uint64 // state
	scratch  []int  // matched pages by replica
	speeds   float64
	measured int // replicas with a speed; speeds is their sum

	routed       uint64    // requests so far
	size         float64   // of a usual one, in tokens to compute
	costs, rates []float64 // scratch of chooseShared
}

type replica struct {
	Load      // of this router's requests
	report    Report
	unheard   unheard
	available bool
}

// routed is what a request adds to the load of its replica.
type routed struct {
	replica  int
	tokens   int // of the prompt
	unshared int // of them, not matched
	running  bool
}

// New returns a Router with an empty index. It panics if Validate rejects the options.
func New(opt Options) *Router {
	if err := opt.Validate(); err != nil {
		invariants.Fail("%v", err)
	}
	opt.Policy = cmp.Or(opt.Policy, CacheAware)
	r := &Router{opt: opt, requests: map[messages.RequestID]routed{}, index: newPageIndex(), random: opt.Seed}
	for i := range opt.Replicas {
		r.Join(i)
	}
	return r
}

// Join makes a replica available, with an empty cache and no requests. Replicas with lower
// numbers that have not joined stay unavailable.
func (r *Router) Join(i int) {
	if i >= maxReplicas {
		invariants.Fail("router: replica %d joins; at most %d can", i, maxReplicas)
	}
	for n := len(r.replicas); n <= i; n++ {
		r.replicas, r.scratch = append(r.replicas, replica{}), append(r.scratch, 0)
		r.costs, r.rates = append(r.costs, 0), append(r.rates, 0)
		if words := n/64 + 1; n%64 == 0 {
			r.index.grow(words*64, cmp.Or(r.opt.MaxPages, defaultIndexBytes/(pageBytes+words*wordBytes)))
			r.scratch = slices.Grow(r.scratch, words*64-len(r.scratch))
		}
	}
	r.replicas[i].available = true
}

// Route chooses a replica and charges it. It reports false if no replica is available that fits. A
// request that is routed again is moved: it was lost at its first replica.
func (r *Router) Route(q Request) (Route, bool) {
	r.Ended(q.ID)
	aware := r.opt.Policy == CacheAware
	if aware {
		r.index.match(q.Pages, r.scratch[:cap(r.scratch)])
	}
	to, ok := r.chooseShared(q)
	if !ok {
		to, ok = r.choose(q)
	}
	if !ok {
		return Route{}, false
	}
	route := Route{Replica: to}
	if aware {
		// At least one token is computed, for the first output.
		route.Matched = min(r.scratch[to], (q.Tokens-1)/r.opt.PageSize)
		r.index.add(to, q.Pages)
	}
	charge := routed{replica: to, tokens: q.Tokens, unshared: q.Tokens - route.Matched*r.opt.PageSize}
	r.requests[q.ID] = charge
	r.charge(charge, 1)
	r.routed++
	r.size += learning * (float64(charge.unshared) - r.size)
	r.turn = (to + 1) % len(r.replicas)
	return route, true
}

// charge adds a request to the load of its replica, or takes it off with sign -1.
func (r *Router) charge(c routed, sign int) {
	l := &r.replicas[c.replica]
	if c.running {
		l.Running += sign
		l.RunningTokens += sign * c.tokens
	} else {
		l.Waiting += sign
		l.WaitingTokens += sign * c.unshared
	}
}

func (r *Router) choose(q Request) (to int, ok bool) {
	n, to := len(r.replicas), -1
	if n == 0 {
		return to, false
	}
	if r.opt.Policy == Random {
		r.random += splitmix.Step
		r.turn = int(splitmix.Mix(r.random) % uint64(n))
	}
	var best, bestLoad float64
	for k := range n {
		i := (r.turn + k) % n
		if !r.replicas[i].available || q.Fits != nil && !q.Fits(i) {
			continue
		}
		if r.opt.Policy == Random || r.opt.Policy == RoundRobin {
			return i, true
		}
		load, speed := r.load(i), r.speed(i)
		own := q.Tokens - r.saved(q, i)
		cost := (load + float64(own)) / speed
		load /= speed
		better := to < 0 || cost < best || cost == best &&
			(load < bestLoad || load == bestLoad && r.index.held[i] < r.index.held[to])
		if better {
			to, best, bestLoad = i, cost, load
		}
	}
	return to, to >= 0
}

// saved is how many tokens of a prompt are not computed at a replica, because they match.
// Nothing matches under least-loaded, and at least one token is computed.
func (r *Router) saved(q Request, i int) int {
	return min(r.scratch[i], (q.Tokens-1)/r.opt.PageSize) * r.opt.PageSize
}

// Idlest is the replica with the least work ahead of a new request, of those that are
// available and fit.
func (r *Router) Idlest(fits func(replica int) bool) (replica int, ok bool) {
	n, to, least := len(r.replicas), -1, 0.0
	for k := range n {
		i := (r.turn + k) % n
		if !r.replicas[i].available || !fits(i) {
			continue
		}
		if load := r.load(i) / r.speed(i); to < 0 || load < least {
			to, least = i, load
		}
	}
	return to, to >= 0
}

// load is the work ahead of a new request, in tokens to compute.
func (r *Router) load(i int) float64 {
	own, others := &r.replicas[i].Load, &r.replicas[i].report.Others
	return float64(own.WaitingTokens+others.WaitingTokens) + float64(decodeWeight*float64(own.RunningTokens+others.RunningTokens))
}

// speed is the replica's speed, or what it probably is.
func (r *Router) speed(i int) float64 {
	if r.measured == 0 {
		return 1
	}
	mean := r.speeds / float64(r.measured)
	if speed := r.replicas[i].report.Speed; speed > mean*alike || speed > 0 && speed < mean/alike {
		return speed
	}
	return mean
}

// mostSpeed is above any speed, in tokens per second. The sum of speeds stays exact enough.
const mostSpeed = 1e9

// Reported records what a replica reports of itself, instead of its last report.
func (r *Router) Reported(i int, report Report) {
	if !(report.Speed >= 0 && report.Speed < mostSpeed) { // NaN, too
		report.Speed = 0
	}
	if old := r.replicas[i].report.Speed; old > 0 {
		r.speeds, r.measured = r.speeds-old, r.measured-1
	}
	if report.Speed > 0 {
		r.speeds, r.measured = r.speeds+report.Speed, r.measured+1
	}
	if r.measured == 0 {
		r.speeds = 0 // no rounding error stays
	}
	e := &r.replicas[i]
	e.unheard.reported(e.report.Others, report.Others, r.routed)
	e.report = report
}

// Started records a request's first token. A late report of an unknown id is ignored.
func (r *Router) Started(id messages.RequestID) {
	c, ok := r.requests[id]
	if !ok || c.running {
		return
	}
	r.charge(c, -1)
	c.running = true
	r.charge(c, 1)
	r.requests[id] = c
}

// Ended takes a request off its replica's load, for whatever reason it ended.
func (r *Router) Ended(id messages.RequestID) {
	if c, ok := r.requests[id]; ok {
		delete(r.requests, id)
		r.charge(c, -1)
	}
}

// Replica is where a request that has not ended was routed to.
func (r *Router) Replica(id messages.RequestID) (replica int, ok bool) {
	c, ok := r.requests[id]
	return c.replica, ok
}

// Requests are the ids of a replica's requests that have not ended, in order.
func (r *Router) Requests(replica int) (ids []messages.RequestID) {
	for id, c := range r.requests {
		if c.replica == replica {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Lost takes a replica out of the choice: its cache is empty and its requests
// have ended. It returns their ids in order. Join includes it again.
func (r *Router) Lost(replica int) []messages.RequestID {
	r.SetAvailable(replica, false)
	r.Reported(replica, Report{})
	r.replicas[replica].unheard = unheard{}
	r.index.clear(replica)
	ids := r.Requests(replica)
	for _, id := range ids {
		r.Ended(id)
	}
	return ids
}

// Changed records what a replica reports of its cache.
func (r *Router) Changed(replica int, m *messages.CacheChanged) {
	for i := range m.Events {
		switch e := &m.Events[i]; e.Kind {
		case messages.PagesStored:
			r.index.add(replica, e.Hashes)
		case messages.PagesRemoved:
			r.index.remove(replica, e.Hashes)
		case messages.PagesCleared:
			r.index.clear(replica)
		}
	}
}

// SetAvailable excludes a replica from the choice, or includes it again. Its
// requests stay charged until they end or are routed again.
func (r *Router) SetAvailable(replica int, ok bool) { r.replicas[replica].available = ok }

func (r *Router) Load(replica int) Load { return r.replicas[replica].Load }
