package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/load/work"
	"github.com/troupe-engine/troupe/lab/measure"
)

// Load is one run. Its fields are set before Run and not changed after.
type Load struct {
	Client      *Client
	Source      *work.Source
	Sessions    int // maximum to run; 0: all of the source
	Concurrency int // maximum of sessions at once; 0: no limit
	// Arrivals are the times of sessions without a time of their own; nil means at
	// once, so that Concurrency alone sets the pace.
	Arrivals *work.Arrivals
	Duration time.Duration // no request starts after it; 0: no limit
	// Refusals of this many first requests as invalid end Run with a *Refusal; 0: never.
	Refusals int
	Live     Live

	mu      sync.Mutex
	records []Record
	callers sync.Pool // of *caller
	unsent  int
	asked   atomic.Int64 // requests
	refused int          // of the first Refusals of them
	giveUp  context.CancelCauseFunc
}

// Refusal is the error of a server that refuses every request.
type Refusal struct {
	Wanted, MaxTokens int // of the last refused request; Wanted is 0 if unknown
	count             int
	failure, message  string
}

func (e *Refusal) Error() string {
	which := "the first request"
	if e.count > 1 {
		which = fmt.Sprintf("each of the first %d requests", e.count)
	}
	return fmt.Sprintf("the server refused %s: %s: %s", which, e.failure, e.message)
}

type Result struct {
	Records []Record      // by session and turn
	Took    time.Duration // from the first request's sending to the last one's end
	Peak    int           // the greatest number of requests at once
	// Unsent are turns not sent: a turn before them did not finish, or the time was over.
	Unsent      int
	Interrupted bool          // the context ended the run
	Exhausted   bool          // the source ended before Sessions or Duration did
	CPU         time.Duration // processor time of this whole process during the run
}

// Run sends requests until the work or the duration is over, or until ctx is done,
// which cuts off running requests. It returns when no request runs. An error comes
// from the source or is a *Refusal; the result has what was measured until then.
func (l *Load) Run(interrupt context.Context) (*Result, error) {
	began, cpu := time.Now(), measure.CPUTime()
	ctx, giveUp := context.WithCancelCause(interrupt)
	defer giveUp(nil)
	l.giveUp = giveUp
	opening, cancel := ctx, context.CancelFunc(func() {})
	if l.Duration > 0 {
		opening, cancel = context.WithTimeout(ctx, l.Duration)
	}
	defer cancel()
	var running sync.WaitGroup
	exhausted, err := l.open(ctx, opening, began, &running)
	running.Wait()
	slices.SortFunc(l.records, func(a, b Record) int { return cmp.Or(a.Session-b.Session, a.Turn-b.Turn) })
	result := &Result{Records: l.records, Peak: l.Live.peak, Unsent: l.unsent,
		Interrupted: interrupt.Err() != nil, Exhausted: exhausted, CPU: measure.CPUTime() - cpu}
	if len(l.records) > 0 {
		first, last := l.records[0].Sent, l.records[0].Last
		for i := range l.records {
			first, last = min(first, l.records[i].Sent), max(last, l.records[i].Last)
		}
		result.Took = last - first
	}
	if refusal, ok := errors.AsType[*Refusal](context.Cause(ctx)); ok {
		err = refusal
	}
	return result, err
}

// judge ends the run when the server has refused all of the first requests. Later
// ones do not count: a refusal takes no time, so many can be refused while the first
// ones are still being answered.
func (l *Load) judge(number int, r *Record) {
	invalid := r.Status == http.StatusBadRequest || r.Status == http.StatusRequestEntityTooLarge || r.Status == http.StatusUnprocessableEntity
	if number > l.Refusals || r.Outcome != Failed || !invalid {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused++; l.refused == l.Refusals {
		l.giveUp(&Refusal{Wanted: r.Wanted, MaxTokens: r.MaxTokens, count: l.refused, failure: r.Failure, message: r.Message})
	}
}

// open starts sessions until opening is done or there are no more.
func (l *Load) open(ctx, opening context.Context, began time.Time, running *sync.WaitGroup) (exhausted bool, err error) {
	var slots chan struct{}
	if l.Concurrency > 0 {
		slots = make(chan struct{}, l.Concurrency)
	}
	for n := 0; l.Sessions == 0 || n < l.Sessions; n++ {
		s, err := l.Source.Next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if l.Arrivals != nil && !s.Timed {
			s.Due, s.Timed = l.Arrivals.Next(), true
		}
		if wait := s.Due - time.Since(began); s.Timed && wait > 0 {
			if sleep(opening, wait) != nil {
				return false, nil
			}
		}
		if slots != nil {
			select {
			case slots <- struct{}{}:
			case <-opening.Done():
				return false, nil
			}
		}
		if opening.Err() != nil {
			return false, nil
		}
		running.Go(func() {
			w, _ := l.callers.Get().(*caller)
			if w == nil {
				w = newCaller(&l.Live)
			}
			l.session(ctx, opening, w, s, began)
			l.callers.Put(w)
			if slots != nil {
				<-slots
			}
		})
	}
	return false, nil
}

// session sends one turn after the other with the answers before it, until opening ends.
func (l *Load) session(ctx, opening context.Context, w *caller, s *work.Session, began time.Time) {
	records := make([]Record, 0, len(s.Turns))
	talk := conversation{chat: l.Client.opt.Chat, body: wire.Body{Stop: s.Stop}}
	talk.system(s.System)
	for i := range s.Turns {
		if i > 0 && opening.Err() != nil {
			break
		}
		turn := &s.Turns[i]
		talk.ask(turn)
		records = append(records, Record{Session: s.Index, Turn: i, Wanted: talk.wanted, MaxTokens: turn.MaxTokens})
		r := &records[i]
		if i == 0 {
			r.Due, r.Timed = s.Due, s.Timed
		}
		number := int(l.asked.Add(1))
		l.Live.begin()
		l.Client.ask(ctx, w, &talk.body, r, began)
		if s.Check != nil && r.Outcome == Finished {
			r.Verdict = s.Check(string(w.text))
		}
		l.Live.end(r)
		l.judge(number, r)
		if r.Outcome != Finished {
			break
		}
		if i+1 < len(s.Turns) {
			talk.answered(string(w.text), r)
		}
	}
	w.rec = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, records...)
	l.unsent += len(s.Turns) - len(records)
}

// Live is the state of a load while it runs. Safe for concurrent use.
type Live struct {
	mu   sync.Mutex
	now  Reading
	peak int
	ttft measure.Histogram
}

// Reading is a copy of the state.
type Reading struct {
	Finished, Failed, Running int
	Tokens                    int           // streamed chunks
	TTFT                      time.Duration // median so far, 0 before the first token
}

func (l *Live) Read() Reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.now
	r.TTFT = l.ttft.Quantile(.5)
	return r
}

func (l *Live) first(ttft time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ttft.Add(ttft)
}

func (l *Live) tokens(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Tokens += n
}

func (l *Live) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Running++
	l.peak = max(l.peak, l.now.Running)
}

func (l *Live) end(r *Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Running--
	switch r.Outcome {
	case Finished:
		l.now.Finished++
	case Failed:
		l.now.Failed++
	}
}
