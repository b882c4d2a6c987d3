package queue

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// fair shares the engine among tenants by virtual token counters (VTC): Sheng,
// Cao, Li, Zhu, Li, Zhuo, Gonzalez and Stoica, Fairness in Serving Large
// Language Models, OSDI 2024, algorithm 2.
//
//	claimed:  counter += input weight × input tokens
//	sampled:  counter += output weight, per token
//	next:     the waiting tenant with the smallest counter; its oldest request
//	returns:  counter = max(counter, smallest counter of the waiting tenants), or,
//	          if none waits, max(counter, that of the tenant that left last)
//
// So tenants that always have requests waiting get equal weighted service, up to twice
// the cost of what fits into the engine at once, regardless of how many requests they
// send. An idle tenant saves up no service. Counters start at zero in each epoch.
//
// Requests of one tenant go by arrival. If none of a tenant was taken for longer than
// aging, since its last claim or its oldest request's arrival, that request goes first:
// one per period, so that flooding the queue with old requests gains nothing.
type fair struct {
	input, output float64
	aging         time.Duration
	keep          int // idle tenants to remember

	tenants map[string]*tenant
	waiting heap[*tenant] // by counter
	since   heap[*tenant] // the same, by the time without service
	idle    heap[*tenant] // nothing waiting or running, by counter
	left    *tenant       // the last one to run out of waiting requests
	running map[messages.RequestID]*tenant

	byCounter walk[*tenant]
	bySince   walk[*tenant]
	offers    heap[*turn]
	turns     []*turn
	round     uint64        // offers so far
	offered   time.Duration // when the last one was
}

type tenant struct {
	name    string
	counter float64
	queue   heap[*waiter] // by arrival
	running int
	served  time.Duration // when the last claimed request was offered
	overdue uint64        // the last offer at which it went first because of aging

	inOrder int32 // position in waiting or idle
	inSince int32
}

// turn is a tenant during one offer, charged as if all that is offered were claimed.
type turn struct {
	tenant  *tenant
	counter float64
	next    *waiter
	walk    walk[*waiter]
	pos     int32
}

func newFair(opt *Options) *fair {
	p := &fair{
		input: opt.FairInputWeight, output: opt.FairOutputWeight, aging: opt.Aging, keep: opt.FairTenants,
		tenants: map[string]*tenant{}, running: map[messages.RequestID]*tenant{},
	}
	inOrder := func(t *tenant) *int32 { return &t.inOrder }
	p.waiting = heap[*tenant]{pos: inOrder, less: func(a, b *tenant) bool {
		if a.counter != b.counter {
			return a.counter < b.counter
		}
		return earlier(a.queue.first(), b.queue.first())
	}}
	p.idle = heap[*tenant]{pos: inOrder, less: func(a, b *tenant) bool {
		return a.counter < b.counter || a.counter == b.counter && a.name < b.name
	}}
	p.since = heap[*tenant]{pos: func(t *tenant) *int32 { return &t.inSince }, less: func(a, b *tenant) bool {
		if a, b := a.unserved(), b.unserved(); a != b {
			return a < b
		}
		return earlier(a.queue.first(), b.queue.first())
	}}
	p.offers = heap[*turn]{pos: func(t *turn) *int32 { return &t.pos }, less: func(a, b *turn) bool {
		if a.counter != b.counter {
			return a.counter < b.counter
		}
		return earlier(a.next, b.next)
	}}
	return p
}

// unserved is when a tenant was last served, or its oldest request arrived, if later.
func (t *tenant) unserved() time.Duration { return max(t.queue.first().req.Arrived, t.served) }

func (p *fair) add(w *waiter) {
	t := p.tenants[w.req.Tenant]
	if t == nil {
		t = &tenant{name: w.req.Tenant, queue: newOrder(earlier)}
		p.tenants[t.name] = t
	}
	w.state = t
	if t.queue.len() > 0 {
		t.queue.push(w)
		p.waiting.fix(t)
		p.since.fix(t)
		return
	}
	if t.inOrder != 0 {
		p.idle.remove(t)
	}
	switch {
	case p.waiting.len() > 0:
		t.counter = max(t.counter, p.waiting.first().counter)
	case p.left != nil:
		t.counter = max(t.counter, p.left.counter)
	}
	t.queue.push(w)
	p.waiting.push(t)
	p.since.push(t)
}

func (p *fair) remove(w *waiter, claimed bool) {
	t := w.state.(*tenant)
	p.waiting.remove(t)
	p.since.remove(t)
	t.queue.remove(w)
	if claimed {
		t.counter += p.cost(w)
		t.running++
		t.served = p.offered
		p.running[w.req.ID] = t
	}
	if t.queue.len() > 0 {
		p.waiting.push(t)
		p.since.push(t)
		return
	}
	p.left = t
	p.keepIdle(t)
}

// cost is the charge for a request's input, with output that is prefilled after a crash.
func (p *fair) cost(w *waiter) float64 { return p.input * float64(len(w.tokens)) }

// keepIdle keeps the counter of a tenant without requests, for a limited number of
// tenants. The smallest counters are forgotten first: add would most likely raise them.
func (p *fair) keepIdle(t *tenant) {
	if t.queue.len() > 0 || t.running > 0 {
		return
	}
	p.idle.push(t)
	for p.idle.len() > p.keep {
		forget := p.idle.first()
		p.idle.remove(forget)
		delete(p.tenants, forget.name)
	}
}

func (p *fair) results(m *messages.StepResults) {
	for i := range m.Tokens {
		if t := p.running[m.Tokens[i].ID]; t != nil {
			t.counter += p.output
			if t.queue.len() > 0 {
				p.waiting.fix(t)
			}
		}
	}
	for i := range m.Ended {
		id := m.Ended[i].ID
		if t := p.running[id]; t != nil {
			delete(p.running, id)
			t.running--
			p.keepIdle(t)
		}
	}
}

// finish changes nothing: tokens up to the results are charged.
func (p *fair) finish(messages.RequestID) {}

func (p *fair) front() *waiter {
	if p.waiting.len() == 0 {
		return nil
	}
	return p.waiting.first().queue.front()
}

func (p *fair) head(dst []*waiter, n int, now time.Duration) []*waiter {
	p.offered = now
	p.round++
	full := len(dst) + n
	dst = p.overdue(dst, full, now)
	p.startTurns(full - len(dst))
	for len(dst) < full && p.offers.len() > 0 {
		turn := p.offers.first()
		dst = append(dst, turn.next)
		turn.counter += p.cost(turn.next)
		if turn.next, _ = turn.walk.next(); turn.next != nil {
			p.offers.fix(turn)
		} else {
			turn.next = turn.tenant.queue.first() // remove compares it
			p.offers.remove(turn)
		}
	}
	return dst
}

// overdue appends, up to full, a request of each tenant not served for more than aging.
func (p *fair) overdue(dst []*waiter, full int, now time.Duration) []*waiter {
	if p.aging == 0 {
		return dst
	}
	p.bySince.start(&p.since)
	for len(dst) < full {
		t, ok := p.bySince.next()
		if !ok || now-t.unserved() < p.aging {
			break
		}
		t.overdue = p.round
		w := t.queue.first()
		w.aged = true
		dst = append(dst, w)
	}
	return dst
}

// startTurns collects the tenants that can appear in an offer of n more: those
// with the n smallest counters, because offering only raises counters. Overdue
// tenants come on top: they were offered one request and may get another one.
func (p *fair) startTurns(n int) {
	p.offers.items = p.offers.items[:0]
	p.byCounter.start(&p.waiting)
	for i := 0; n > 0; i++ {
		t, ok := p.byCounter.next()
		if !ok {
			break
		}
		if i == len(p.turns) {
			p.turns = append(p.turns, new(turn))
		}
		turn := p.turns[i]
		turn.tenant, turn.counter, turn.pos = t, t.counter, 0
		turn.walk.start(&t.queue)
		turn.next, _ = turn.walk.next()
		if t.overdue == p.round {
			turn.counter += p.cost(turn.next)
			if turn.next, _ = turn.walk.next(); turn.next == nil {
				continue
			}
		} else {
			n--
		}
		p.offers.push(turn)
	}
}
