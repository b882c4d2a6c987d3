package queue

import "github.com/troupe-engine/troupe/internal/invariants"

// checkedWaiting is the longest queue checked after each message: a check costs O(n).
const checkedWaiting = 256

// checkInvariants checks the wait order and its policy. Only in builds with the
// tag invariants, and only while the queue is short.
func (q *Core) checkInvariants() {
	o := &q.waiting
	if o.len() > checkedWaiting {
		return
	}
	o.byArrival.check("byArrival")
	o.boosted.check("boosted")
	members := 0
	for id, w := range o.byID {
		boosted := o.isBoosted(w)
		inArrival := w.inOrder > 0 && int(w.inOrder) <= o.byArrival.len() && o.byArrival.items[w.inOrder-1] == w
		inBoosted := w.inOrder > 0 && int(w.inOrder) <= o.boosted.len() && o.boosted.items[w.inOrder-1] == w
		invariants.Check(w.req.ID == id && inBoosted == boosted && inArrival == (!boosted && o.aging > 0),
			"request %d: boosted %t, in boosted %t, in byArrival %t", id, boosted, inBoosted, inArrival)
		if !boosted {
			members++
		}
	}
	invariants.Check(o.boosted.len() == o.len()-members, "%d requests in boosted, want %d", o.boosted.len(), o.len()-members)
	if c, ok := o.policy.(interface{ check(members int) }); ok {
		c.check(members)
	}
}

func (h *heap[E]) check(name string) {
	for i, e := range h.items {
		invariants.Check(int(*h.pos(e)) == i+1, "%s: element %d has position %d", name, i, *h.pos(e)-1)
		invariants.Check(i == 0 || !h.less(e, h.items[(i-1)/2]), "%s: element %d is less than its parent", name, i)
	}
}

func (p *ranked) check(members int) {
	p.heap.check("ranks")
	invariants.Check(p.len() == members, "the policy holds %d requests of %d", p.len(), members)
}

func (p *lpm) check(members int) {
	p.fresh.check("fresh")
	p.main.check("main")
	groups := make(map[*group]bool)
	for key, g := range p.groups {
		invariants.Check(g.key == key, "a group is stored under another key")
		groups[g] = true
	}
	for _, g := range p.ending {
		invariants.Check(g.phase == ending || g.phase == drained, "a group in ending is in phase %d", g.phase)
		groups[g] = true
	}
	invariants.Check(len(p.byClaim) == len(p.filling), "%d running leaders in byClaim, %d in filling", len(p.byClaim), len(p.filling))
	for _, g := range p.byClaim {
		invariants.Check(g.phase == filled && p.filling[g.leader.req.ID] == g, "a running leader is not the leader of its group")
		groups[g] = true
	}
	held := p.fresh.len() + p.main.len()
	for g := range groups {
		g.followers.check("followers")
		held += g.followers.len()
		for _, w := range g.followers.items {
			invariants.Check(hintOf(w).group == g && hintOf(w).state == following, "request %d does not follow its group", w.req.ID)
		}
		if g.phase == led {
			invariants.Check(hintOf(g.leader).group == g && hintOf(g.leader).state == offerable, "request %d does not lead its group", g.leader.req.ID)
			invariants.Check(g.followers.len() == 0 || earlier(g.leader, g.followers.first()), "request %d leads an earlier one", g.leader.req.ID)
		}
	}
	for _, w := range p.fresh.items {
		invariants.Check(hintOf(w).state == unasked && hintOf(w).group == nil, "request %d is a newcomer and has a group", w.req.ID)
	}
	for _, w := range p.main.items {
		invariants.Check(hintOf(w).state == offerable && w.rank == -int64(hintOf(w).matched), "request %d with %d cached tokens has rank %d", w.req.ID, hintOf(w).matched, w.rank)
	}
	invariants.Check(held == members, "the policy holds %d requests of %d", held, members)
}

func (p *dfsWeight) check(members int) {
	p.fresh.check("fresh")
	branches := 0
	var weigh func(b *branch) int
	weigh = func(b *branch) int {
		branches++
		b.own.check("own")
		b.children.check("children")
		weight := b.own.len()
		for _, w := range b.own.items {
			invariants.Check(branchOf(w) == b, "request %d is at another branch", w.req.ID)
		}
		for _, child := range b.children.items {
			invariants.Check(child.parent == b && p.byID[child.id] == child, "node %#x is missing below node %#x", uint64(child.id), uint64(b.id))
			weight += weigh(child)
		}
		invariants.Check(b.weight == weight && (weight > 0 || b == p.root), "node %#x has weight %d, want %d", uint64(b.id), b.weight, weight)
		return weight
	}
	held := weigh(p.root) + p.fresh.len()
	invariants.Check(held == members && branches == len(p.byID)+1, "the tree holds %d requests of %d on %d nodes of %d", held, members, branches-1, len(p.byID))
}

func (p *fair) check(members int) {
	p.waiting.check("waiting tenants")
	p.since.check("unserved tenants")
	p.idle.check("idle tenants")
	held, waiting, running, idle := 0, 0, 0, 0
	for name, t := range p.tenants {
		t.queue.check("tenant's requests")
		held += t.queue.len()
		running += t.running
		switch {
		case t.queue.len() > 0:
			waiting++
		case t.running == 0:
			idle++
		}
		invariants.Check(t.name == name && t.counter >= 0, "tenant %q has counter %v", name, t.counter)
	}
	invariants.Check(held == members, "tenants hold %d requests of %d", held, members)
	invariants.Check(waiting == p.waiting.len() && waiting == p.since.len() && idle == p.idle.len() && idle <= p.keep && running == len(p.running),
		"%d tenants wait (%d, %d in order), %d are idle (%d), %d requests run (%d)", waiting, p.waiting.len(), p.since.len(), idle, p.idle.len(), running, len(p.running))
}
