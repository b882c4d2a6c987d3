package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// verdict is what a probe found: a status of the body, or the error.
type verdict struct {
	status string
	err    *apiError
}

// round is those who wait for the same probe. The prober's goroutine owns it
// until the verdict is there; then it is frozen.
type round struct {
	waiting int
	lanes   []chan struct{} // each closed when those in it may go on
	places  int             // in lanes
	free    []int           // lanes of places that were given up, once for each
	verdict verdict
}

// Thousands who go on at once would be before everything else in the queues of
// the scheduler and of the processor, and a client's first token behind them. So
// they go in lanes of laneWidth, some 3 ms of work each, one every lanePause.
const (
	laneWidth = 64
	lanePause = 8 * time.Millisecond
)

// ticket is a place in a round; without a round, too many wait.
type ticket struct {
	round *round
	lane  int
	open  <-chan struct{} // the lane's
}

// enter adds one who waits, on a place that was given up if there is one.
func (r *round) enter() ticket {
	r.waiting++
	lane := r.places / laneWidth
	if last := len(r.free) - 1; last >= 0 {
		lane, r.free = r.free[last], r.free[:last]
	} else if r.places++; lane == len(r.lanes) {
		r.lanes = append(r.lanes, make(chan struct{}))
	}
	return ticket{r, lane, r.lanes[lane]}
}

// leave gives a place up.
func (r *round) leave(t ticket) {
	r.waiting--
	r.free = append(r.free, t.lane)
}

// release lets all go on.
func (r *round) release() {
	for i, lane := range r.lanes {
		if i > 0 {
			<-time.After(lanePause)
		}
		close(lane)
	}
}

// prober has a token computed for those who ask whether the engine works. One
// probe runs at a time, and one begins per interval, however many ask: who comes
// while one runs gets its verdict, others that of the next. A probe belongs to
// nobody who asks, so that nobody ends it by going away.
type prober struct {
	interval time.Duration // between the starts of two probes
	most     int           // who may wait at once
	probe    func(context.Context) verdict
	quit     <-chan struct{} // closed when the server drains

	begin  sync.Once
	asks   chan chan<- ticket // answered at once
	leaves chan ticket
}

func newProber(interval time.Duration, most int, quit <-chan struct{}, probe func(context.Context) verdict) *prober {
	return &prober{interval: interval, most: most, quit: quit, probe: probe, asks: make(chan chan<- ticket), leaves: make(chan ticket)}
}

// errCrowded and errClosed are why there is no verdict.
var (
	errCrowded = errors.New("too many clients are waiting for /health_generate")
	errClosed  = errors.New("the server is shutting down")
)

// ask waits for a verdict.
func (p *prober) ask(ctx context.Context) (verdict, error) {
	p.begin.Do(func() { go p.run() })
	reply := make(chan ticket, 1)
	select {
	case p.asks <- reply:
	case <-p.quit:
		return verdict{}, errClosed
	case <-ctx.Done():
		return verdict{}, ctx.Err()
	}
	place := <-reply
	if place.round == nil {
		return verdict{}, errCrowded
	}
	select {
	case <-place.open:
		return place.round.verdict, nil
	case <-p.quit:
		return verdict{}, errClosed
	case <-ctx.Done():
	}
	select {
	case p.leaves <- place:
	case <-place.open:
	case <-p.quit:
	}
	return verdict{}, ctx.Err()
}

// run owns the round that is open, from the first who asks until the server
// drains.
func (p *prober) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var (
		open    *round           // nil: nobody waits, and no probe runs
		due     <-chan time.Time // when its probe begins; nil when it runs
		started time.Time        // the newest
		over    = make(chan verdict, 1)
	)
	for {
		select {
		case reply := <-p.asks:
			if open == nil {
				open, due = &round{}, time.After(time.Until(started.Add(p.interval)))
			}
			if open.waiting >= p.most {
				reply <- ticket{}
				continue
			}
			reply <- open.enter()
		case place := <-p.leaves:
			if place.round != open {
				continue // its verdict is there
			}
			if open.leave(place); open.waiting == 0 && due != nil {
				open, due = nil, nil // nobody wants to know any more
			}
		case <-due:
			due, started = nil, time.Now()
			go func() { over <- p.probe(ctx) }()
		case v := <-over:
			open.verdict = v
			go open.release()
			open = nil
		case <-p.quit:
			return
		}
	}
}

// healthGenerate tells whether the engine computes: a token goes from intake to
// the device and back.
func (s *Server) healthGenerate(w http.ResponseWriter, r *http.Request) *apiError {
	v, err := s.prober.ask(r.Context())
	switch {
	case errors.Is(err, errCrowded):
		// Full of requests is not broken; a supervisor must not restart it.
		w.Header().Set("Retry-After", "1")
		v.status = "busy"
	case errors.Is(err, errClosed):
		return shuttingDown()
	case err != nil:
		return clientGone(r.Context(), nil)
	case v.err != nil:
		return v.err
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": v.status})
	return nil
}

// computeToken is a probe.
func (s *Server) computeToken(ctx context.Context) verdict {
	limit := s.rules.Load().HealthTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no token in %s", limit))
	defer cancel()
	params := &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 1, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
	var prompt int32
	if bos, ok := s.Model.Tokenizer.BOS(); ok {
		prompt = bos
	}
	s.progress.look(time.Now(), s.Steps())
	c, err := submit(ctx, s.Engine, "", "health-"+newID(), []messages.Submission{{Prompt: []int32{prompt}, Params: params, After: -1}})
	if err == nil {
		_, err = c.collect(ctx)
	}
	switch {
	case err == nil:
		return verdict{status: "healthy"}
	case s.progress.within(time.Now(), s.Steps(), limit):
		return verdict{status: "busy"} // refused or in line, while others get their tokens
	}
	why := err.Message
	if cause := context.Cause(ctx); cause != nil {
		why = cause.Error()
	}
	s.Log.Warn().Str("cause", clip(why, maxErrorMessage)).Msg("the engine did not produce the token of /health_generate")
	return verdict{err: newError(http.StatusServiceUnavailable).retry(1).say("the engine made no progress: %s", own(why))}
}

// progress is when the engine was last seen to get on. One probe at a time uses
// it.
type progress struct {
	steps float64
	seen  time.Time // the zero time: never looked
}

func (p *progress) look(now time.Time, steps float64) {
	if p.seen.IsZero() || steps != p.steps {
		p.steps, p.seen = steps, now
	}
}

// within reports whether the engine got on in the time before now. Full is not
// broken: a supervisor must restart a server that hangs, and no other.
func (p *progress) within(now time.Time, steps float64, last time.Duration) bool {
	p.look(now, steps)
	return now.Sub(p.seen) < last
}
