package queue

import (
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// fair shares the engine among tenants by virtual token counters (VTC): Sheng,
// Cao, Li, Zhu, Li, Zhuo, Gonzalez and Stoica, Fairness in Serving Large
// Language Models, OSDI 2024, algorithm 2.
//
//	served:   counter += input weight × input tokens, when a request is claimed
//	          counter += output weight, per output token
//	next:     the waiting tenant with the smallest counter; its oldest request
//	returns:  counter = max(counter, smallest counter of those who wait), or,
//	          when nobody waits, max(counter, that of the tenant who left last)
//
// So tenants that always have requests waiting get equal weighted service, up
// to twice the cost of what fits into the engine at once, however much each of
// them sends; and nobody saves up service while having nothing to ask for.
//
// Requests of one tenant go by arrival. A tenant of which no request was taken
// for longer than aging, since its oldest one arrived or since the last one was
// taken, goes first with one request: whoever floods the queue wins nothing by
// having old requests.
//
// Counters count from the start of the epoch.
type fair struct {
	input, output float64
	aging         time.Duration
	keep          int // idle tenants

	tenants map[string]*tenant
	waiting ordered[*tenant] // by counter
	since   ordered[*tenant] // the same, by how long they go without service
	idle    ordered[*tenant] // with nothing waiting or running, by counter
	left    *tenant          // whose last waiting request left last
	running map[messages.RequestID]*tenant

	byCounter walk[*tenant]
	bySince   walk[*tenant]
	offers    ordered[*turn]
	turns     []*turn
	round     uint64        // offers so far
	offered   time.Duration // when the last one was
}

// tenant is who is billed for requests.
type tenant struct {
	name    string
	counter float64
	queue   ordered[*waiter] // by arrival
	running int
	served  time.Duration // when the last request that was taken was offered
	overdue uint64        // the last offer at which it went first

	inOrder int32 // place in waiting or in idle
	inSince int32
}

// turn is a tenant during one offer, as if what is offered were claimed.
type turn struct {
	tenant  *tenant
	counter float64
	next    *waiter
	walk    walk[*waiter]
	place   int32
}

func newFair(opt *Options) *fair {
	p := &fair{
		input: opt.FairInputWeight, output: opt.FairOutputWeight, aging: opt.Aging, keep: opt.FairTenants,
		tenants: map[string]*tenant{}, running: map[messages.RequestID]*tenant{},
	}
	byCounter := func(a, b *tenant) bool {
		if a.counter != b.counter {
			return a.counter < b.counter
		}
		return a.name < b.name
	}
	inOrder := func(t *tenant) *int32 { return &t.inOrder }
	p.waiting = ordered[*tenant]{less: func(a, b *tenant) bool {
		if a.counter != b.counter {
			return a.counter < b.counter
		}
		return earlier(a.queue.first(), b.queue.first())
	}, place: inOrder}
	p.idle = ordered[*tenant]{less: byCounter, place: inOrder}
	p.since = ordered[*tenant]{less: func(a, b *tenant) bool {
		if a, b := a.unserved(), b.unserved(); a != b {
			return a < b
		}
		return earlier(a.queue.first(), b.queue.first())
	}, place: func(t *tenant) *int32 { return &t.inSince }}
	p.offers = ordered[*turn]{less: func(a, b *turn) bool {
		if a.counter != b.counter {
			return a.counter < b.counter
		}
		return earlier(a.next, b.next)
	}, place: func(t *turn) *int32 { return &t.place }}
	return p
}

// unserved is the time since which a tenant with waiting requests goes without
// service.
func (t *tenant) unserved() time.Duration { return max(t.queue.first().req.Arrived, t.served) }

func (p *fair) add(w *waiter) {
	t := p.tenants[w.req.Tenant]
	if t == nil {
		t = &tenant{name: w.req.Tenant, queue: newOrder(earlier)}
		p.tenants[t.name] = t
	}
	w.tenant = t
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
	t := w.tenant
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
	p.rest(t)
}

// cost is the charge for a request's input. What was computed before a crash is
// computed again, so it is input.
func (p *fair) cost(w *waiter) float64 { return p.input * float64(len(w.tokens)) }

// rest keeps a tenant's counter while it has nothing to do, for as many as are
// kept. The smallest counters go first: they are likeliest to be lifted anyway.
func (p *fair) rest(t *tenant) {
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

// results charges for output.
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
			p.rest(t)
		}
	}
}

// finish waits for the results: tokens until then are served.
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
			turn.next = turn.tenant.queue.first() // for comparing while it leaves
			p.offers.remove(turn)
		}
	}
	return dst
}

// overdue appends one request of each tenant that goes without service for too
// long, up to full.
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

// startTurns collects the tenants that an offer of n more can have: the n
// smallest counters, since what is offered only raises them. Those who are
// overdue have had a request and may have another one.
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
		turn.tenant, turn.counter, turn.place = t, t.counter, 0
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
