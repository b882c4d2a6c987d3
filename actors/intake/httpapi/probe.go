package httpapi

import (
	"context"
	"errors"
	"sync"
	"time"
)

// verdict is what a probe found: a status of the body, or the error.
type verdict struct {
	status string
	err    *apiError
}

// round is one probe and the clients that wait for it.
type round struct {
	waiting int
	verdict verdict       // frozen before the first turn
	turns   chan struct{} // has a value for each waiter that may go on, closed after the last
}

// If thousands went on at once, they would delay clients' tokens. So laneWidth of them
// go on, some 3 ms of work, every lanePause.
const (
	laneWidth = 64
	lanePause = 8 * time.Millisecond
)

// release lets all go on. Only those that still wait take a value: others cost nothing.
func (r *round) release() {
	defer close(r.turns)
	for n := 1; ; n++ {
		select {
		case r.turns <- struct{}{}:
		default:
			return
		}
		if n%laneWidth == 0 {
			<-time.After(lanePause)
		}
	}
}

// prober computes a token for clients that check whether the engine works. However many
// check, one probe runs at a time and one begins per interval. A client that comes while
// one runs shares it; others share the next one. A client that leaves does not end it.
type prober struct {
	interval time.Duration // between the starts of two probes
	most     int           // clients that may wait at once
	probe    func(context.Context) verdict
	serving  context.Context // done when the server drains

	// Handlers run beside each other; the lock is held for a few assignments.
	mu      sync.Mutex
	open    *round      // nil: nothing waits, and no probe runs
	due     *time.Timer // starts the probe of open
	started time.Time   // the newest probe
}

// errCrowded and errClosed are why there is no verdict.
var (
	errCrowded = errors.New("too many clients are waiting for /health_generate")
	errClosed  = errors.New("the server is shutting down")
)

// ask waits for a verdict.
func (p *prober) ask(ctx context.Context) (verdict, error) {
	if p.serving.Err() != nil {
		return verdict{}, errClosed
	}
	r := p.enter()
	if r == nil {
		return verdict{}, errCrowded
	}
	select {
	case <-r.turns:
		if p.serving.Err() != nil {
			return verdict{}, errClosed // perhaps without a probe
		}
		return r.verdict, nil
	case <-p.serving.Done():
		return verdict{}, errClosed
	case <-ctx.Done():
		p.leave(r)
		return verdict{}, ctx.Err()
	}
}

// enter returns the round to wait for, nil if too many wait.
func (p *prober) enter() *round {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = &round{turns: make(chan struct{})}
		p.due = time.AfterFunc(time.Until(p.started.Add(p.interval)), p.run)
	}
	if p.open.waiting >= p.most {
		return nil
	}
	p.open.waiting++
	return p.open
}

// leave cancels a probe that nothing waits for and that has not begun.
func (p *prober) leave(r *round) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.waiting--; r == p.open && r.waiting == 0 && p.due.Stop() {
		p.open = nil
	}
}

// run makes the probe of the open round.
func (p *prober) run() {
	p.mu.Lock()
	r := p.open
	p.started = time.Now()
	p.mu.Unlock()
	if p.serving.Err() == nil {
		r.verdict = p.probe(p.serving)
	}
	p.mu.Lock()
	p.open = nil
	p.mu.Unlock()
	r.release()
}
