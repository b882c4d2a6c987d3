package queue

import "github.com/troupe-engine/troupe/internal/invariants"

// checkedWaiting is how many may wait for a queue to be checked after each
// message: a check looks at all of them.
const checkedWaiting = 256

// checkInvariants fails when the line or its policy contradicts itself. Only in
// builds with invariants, and while the queue is short.
func (q *Core) checkInvariants() {
	l := q.line
	if len(l.all) > checkedWaiting {
		return
	}
	l.young.check("young")
	l.first.check("first")
	members := 0
	for id, w := range l.all {
		first := l.isFirst(w)
		inYoung := w.inLine > 0 && int(w.inLine) <= l.young.len() && l.young.items[w.inLine-1] == w
		inFirst := w.inLine > 0 && int(w.inLine) <= l.first.len() && l.first.items[w.inLine-1] == w
		invariants.Check(w.req.ID == id && inFirst == first && inYoung == (!first && l.aging > 0),
			"request %d: first %t, in first %t, in young %t", id, first, inFirst, inYoung)
		if !first {
			members++
		}
	}
	invariants.Check(l.first.len() == len(l.all)-members, "%d requests go first, %d are known", l.first.len(), len(l.all)-members)
	if c, ok := l.policy.(interface{ check(members int) }); ok {
		c.check(members)
	}
}

// check fails unless the heap is one.
func (o *ordered[E]) check(name string) {
	for i, e := range o.items {
		invariants.Check(int(*o.place(e)) == i+1, "%s: element %d believes to be %d", name, i, *o.place(e)-1)
		invariants.Check(i == 0 || !o.less(e, o.items[(i-1)/2]), "%s: element %d is before its parent", name, i)
	}
}

func (p *ranked) check(members int) {
	p.order.check("ranks")
	invariants.Check(p.order.len() == members, "the policy holds %d requests of %d", p.order.len(), members)
}

func (p *lpm) check(members int) {
	p.fresh.check("fresh")
	p.main.check("main")
	groups := make(map[*group]bool)
	for key, g := range p.groups {
		invariants.Check(g.key == key, "a group stands under another key")
		groups[g] = true
	}
	for _, g := range p.ending {
		invariants.Check(g.phase == ending || g.phase == drained, "a group that ends is in phase %d", g.phase)
		groups[g] = true
	}
	invariants.Check(len(p.byClaim) == len(p.filling), "%d leaders run in order, %d by id", len(p.byClaim), len(p.filling))
	for _, g := range p.byClaim {
		invariants.Check(g.phase == filled && p.filling[g.leader.req.ID] == g, "a leader that runs does not fill its group")
		groups[g] = true
	}
	held := p.fresh.len() + p.main.len()
	for g := range groups {
		g.followers.check("followers")
		held += g.followers.len()
		for _, w := range g.followers.items {
			invariants.Check(w.group == g && w.hint.state == following, "request %d does not follow its group", w.req.ID)
		}
		if g.phase == led {
			invariants.Check(g.leader.group == g && g.leader.hint.state == offerable, "request %d does not lead its group", g.leader.req.ID)
			invariants.Check(g.followers.len() == 0 || earlier(g.leader, g.followers.first()), "request %d leads an earlier one", g.leader.req.ID)
		}
	}
	for _, w := range p.fresh.items {
		invariants.Check(w.hint.state == unasked && w.group == nil, "request %d is new and has a group", w.req.ID)
	}
	for _, w := range p.main.items {
		invariants.Check(w.hint.state == offerable && w.rank == -int64(w.hint.matched), "request %d with %d cached tokens has rank %d", w.req.ID, w.hint.matched, w.rank)
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
			invariants.Check(w.branch == b, "request %d is at another branch", w.req.ID)
		}
		for _, child := range b.children.items {
			invariants.Check(child.parent == b && p.byID[child.id] == child, "node %#x is not known below node %#x", uint64(child.id), uint64(b.id))
			weight += weigh(child)
		}
		invariants.Check(b.weight == weight && (weight > 0 || b == p.root), "node %#x weighs %d, want %d", uint64(b.id), b.weight, weight)
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
		invariants.Check(t.name == name && t.counter >= 0, "tenant %q has %v on its counter", name, t.counter)
	}
	invariants.Check(held == members, "tenants hold %d requests of %d", held, members)
	invariants.Check(waiting == p.waiting.len() && waiting == p.since.len() && idle == p.idle.len() && idle <= p.keep && running == len(p.running),
		"%d tenants wait (%d, %d in order), %d are idle (%d), %d requests run (%d)", waiting, p.waiting.len(), p.since.len(), idle, p.idle.len(), running, len(p.running))
}
