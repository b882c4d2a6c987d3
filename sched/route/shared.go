package route

import (
	"math"

	"github.com/troupe-engine/troupe/internal/splitmix"
)

// Several routers that send to the same replicas see the same reports. If each chose the
// replica that looks best, a burst would meet there: what the others route now is in the
// next report only. So a router learns how many requests of others it typically has not
// heard of, and counts with them:
//
//   - It pours their work over the replicas, into the emptiest ones first, as into a basin.
//     All replicas below the level that this gives are equally good to it. Of those it draws
//     one; how deep a replica is below the level is its weight.
//   - A match that is worth it is still followed: to the replica where the level, or what the
//     others have sent there before, minus the match is the least. The other routers get
//     other requests, so few of theirs follow the same match.
//
// With one router nothing is unheard of, and all this is left out.

// unheard is what a router has learned about a replica's requests from other routers.
type unheard struct {
	some   bool   // the replica has reported since it joined
	routed uint64 // Router.routed at the last report
	// Means over recent reports before which this router has routed requests: of those
	// times the others' new ones at this replica, and of its own.
	product, own float64
}

const (
	// learning is the weight of the newest report, and of the newest request's size.
	learning = 1.0 / 32
	// worthIt is the least part of a usual request's work that a match must save to be
	// followed to where others may follow a match, too.
	worthIt = 1.0 / 8
)

// reported learns from the number of others' requests at a replica. Requests that have ended
// since the last report hide new ones, which are then missing. Those of the first report are
// not new.
func (u *unheard) reported(before, now Load, routed uint64) {
	if own := float64(routed - u.routed); own > 0 && u.some {
		others := float64(max(0, now.Waiting+now.Running-before.Waiting-before.Running))
		u.product += learning * (own*others - u.product)
		u.own += learning * (own - u.own)
	}
	u.some, u.routed = true, routed
}

// requests is how many requests of others a replica typically has that are not reported,
// at the time when this router routes one.
func (u *unheard) requests() float64 {
	if u.own == 0 {
		return 0
	}
	return u.product / u.own
}

// chooseShared chooses a replica if others send requests, too. It reports false if not.
func (r *Router) chooseShared(q Request) (to int, ok bool) {
	if r.opt.Policy == Random || r.opt.Policy == RoundRobin {
		return 0, false
	}
	work := r.fill(q)
	if work == 0 {
		return 0, false
	}
	level := r.level(work)
	if to, ok := r.follow(q, level); ok {
		return to, true
	}
	left := r.draw() * work
	for i, cost := range r.costs {
		if cost < level {
			to, ok = i, true
			if left -= (level - cost) * r.rates[i]; left < 0 {
				break
			}
		}
	}
	return to, ok
}

// fill sets rates to the speeds, and costs to the time until each replica has computed a
// request, without what it may have cached. It returns the work of the others' requests that are not reported.
func (r *Router) fill(q Request) (work float64) {
	for i := range r.replicas {
		e := &r.replicas[i]
		if !e.available || q.Fits != nil && !q.Fits(i) {
			r.costs[i] = math.Inf(1)
			continue
		}
		r.rates[i] = r.speed(i)
		r.costs[i] = (r.load(i) + float64(q.Tokens)) / r.rates[i]
		work += e.unheard.requests() * r.size
	}
	return work
}

// level is the cost to which work raises the lowest ones.
func (r *Router) level(work float64) float64 {
	level, below := math.Inf(1), -1
	for {
		sum, speeds, n := work, 0.0, 0
		for i, cost := range r.costs {
			if cost < level {
				sum, speeds, n = sum+cost*r.rates[i], speeds+r.rates[i], n+1
			}
		}
		// The number of costs below the level falls until it stays. With rounding it may rise
		// again by those that are equal to the level. None: work is too little to raise it.
		if n == 0 || below >= 0 && n >= below {
			return level
		}
		level, below = sum/speeds, n
	}
}

// follow chooses the best replica with a match that is worth it, if its cost is below the
// level. Of equal ones it takes the first one after a random place.
func (r *Router) follow(q Request, level float64) (to int, ok bool) {
	n, best := len(r.replicas), level
	start := int(r.draw() * float64(n))
	for k := range n {
		i := (start + k) % n
		if math.IsInf(r.costs[i], 1) {
			continue
		}
		saved := float64(r.saved(q, i))
		if saved <= r.size*worthIt {
			continue
		}
		cost := max(level, r.costs[i]+r.replicas[i].unheard.requests()*r.size/r.rates[i]) - saved/r.rates[i]
		if cost < best {
			to, best, ok = i, cost, true
		}
	}
	return to, ok
}

// draw returns a number from 0 to below 1.
func (r *Router) draw() float64 {
	r.random += splitmix.Step
	return float64(splitmix.Mix(r.random)>>11) / (1 << 53)
}
