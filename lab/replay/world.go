package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/lab/costmodel"
	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/lab/plot"
	"github.com/troupe-engine/troupe/lab/trace"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

type world struct {
	opt     Options
	pool    pool.Plan
	costs   *costmodel.Costs
	engines []*engine
	router  *route.Router // nil with one replica, and in a cluster
	cluster cluster
	source  source

	agenda []event // ascending by time; at one time in the order of scheduling
	vital  int     // events of the agenda that the replay waits for
	now    time.Duration
	events int

	ttft, itl, e2e measure.Histogram
	series         series
	// Integrals over time in request × seconds, and peaks.
	waitingArea, runningArea float64
	waitingPeak, runningPeak int
	waiting, running         int
	waitingTokens            int

	// backlog has the arrived requests; prompts are generated when there is room to wait.
	backlog       []*arrival
	backlogBlocks int // of all their requests
	heldBack      int
}

// maxBacklog and maxBacklogBlocks (64 MiB) bound the backlog. Beyond them the trace is
// not read further; later requests count as waiting only when they are read.
const (
	maxBacklog       = 100_000
	maxBacklogBlocks = 8 << 20
)

// Run replays a trace to its end and reports. It returns early with the
// context's error. The trace's own errors name its lines.
func Run(ctx context.Context, trace trace.Reader, opt Options) (*Report, error) {
	w, err := newWorld(trace, opt)
	if err != nil {
		return nil, err
	}
	const every = 256 // events between looks at the context
	for {
		if w.events++; w.events%every == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			w.progress()
		}
		more, err := w.turn()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	w.progress()
	return w.finish()
}

func newWorld(from trace.Reader, opt Options) (*world, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	if opt.ChunkedPrefillSize == 0 { // a default, so it may not exceed the bound of a step
		opt.ChunkedPrefillSize = min(defaultChunk(opt.GPU.Memory), opt.MaxPrefillTokens)
	}
	pool, err := opt.pool()
	if err != nil {
		return nil, err
	}
	w := &world{opt: opt, pool: pool, costs: costmodel.NewCosts(opt.GPU, opt.Model), series: series{max: opt.Samples, every: firstEvery}}
	w.source = source{from: from, opt: &w.opt, pool: pool}
	for i := range opt.Replicas {
		w.engines = append(w.engines, newEngine(w, i))
	}
	switch {
	case opt.clustered():
		return w, w.connect()
	case opt.Replicas > 1:
		w.router = route.New(w.routing(0, opt.Replicas))
	}
	return w, nil
}

// routing are the options of a router that knows some replicas from the start.
func (w *world) routing(gateway, replicas int) route.Options {
	return route.Options{
		Policy: w.opt.Routing, Replicas: replicas, PageSize: w.opt.PageSize, Seed: w.opt.Seed + uint64(gateway),
		// What the caches hold together, prompts on their way included.
		MaxPages: w.opt.Replicas * w.pool.Pages,
	}
}

// turn handles the next event: an arrival, or an event of an engine, which goes first
// at equal times. It reports false when nothing is left.
func (w *world) turn() (more bool, err error) {
	next, err := w.source.peek()
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	room := w.waitingTokens < w.opt.WaitingTokens
	switch {
	case room && len(w.backlog) > 0:
		first := w.backlog[0]
		w.backlog[0] = nil
		w.backlog = w.backlog[1:]
		w.backlogBlocks -= len(first.of.Blocks)
		w.waiting--
		return true, w.submit(first)
	case next != nil && (room || len(w.backlog) < maxBacklog && w.backlogBlocks < maxBacklogBlocks) && (len(w.agenda) == 0 || next.at < w.agenda[0].at):
		w.source.next = nil
		w.advance(max(w.now, next.at))
		if room {
			return true, w.submit(next)
		}
		w.backlog = append(w.backlog, next)
		w.backlogBlocks += len(next.of.Blocks)
		w.heldBack++
		w.waiting++
		w.waitingPeak = max(w.waitingPeak, w.waiting)
		return true, nil
	case w.vital == 0 && !room && (next != nil || len(w.backlog) > 0):
		return false, fmt.Errorf("bug: %d prompt tokens are waiting, but no engine is running a step; please report this", w.waitingTokens)
	case w.vital > 0 || next != nil:
		first := w.agenda[0]
		w.agenda = slices.Delete(w.agenda, 0, 1)
		if !first.aside {
			w.vital--
		}
		return true, w.happen(first)
	}
	return false, nil
}

// event is the end of an engine's step, or with due a timer of a core.
type event struct {
	at     time.Duration
	engine *engine
	due    envelope
	// In a cluster: what is done at that time instead, and whether the replay may end
	// before it.
	do    func(now time.Duration)
	aside bool
}

func (w *world) schedule(e event) {
	if !e.aside {
		w.vital++
	}
	after, _ := slices.BinarySearchFunc(w.agenda, e.at, func(e event, at time.Duration) int { return cmp.Or(cmp.Compare(e.at, at), -1) })
	w.agenda = slices.Insert(w.agenda, after, e)
}

func (w *world) happen(e event) error {
	w.advance(e.at)
	if e.do != nil {
		e.do(e.at)
		return w.pass()
	}
	if e.due.msg == nil {
		e.due = envelope{messages.Former, e.engine.runner.complete()}
	}
	err := e.engine.deliver(e.at, e.due)
	w.count(e.engine)
	return cmp.Or(err, w.pass())
}

// submit routes a request to an engine, at its time or, if it was held back, later.
func (w *world) submit(a *arrival) error {
	request := a.request()
	if w.opt.clustered() {
		return w.arrive(request, a.at)
	}
	to := 0
	if w.router != nil {
		q := route.Request{ID: request.ID, Tokens: len(request.Prompt)}
		if w.opt.routesByPrefix() {
			q.Pages = radix.PageHashes("", request.Prompt, w.opt.PageSize)
		}
		route, ok := w.router.Route(q)
		if !ok {
			return fmt.Errorf("bug: no simulated engine is available for line %d of the trace; please report this", a.of.Line)
		}
		to = route.Replica
	}
	err := w.engines[to].submit(w.now, request, a.at)
	w.count(w.engines[to])
	return err
}

// advance moves the clock and takes the samples that are due.
func (w *world) advance(to time.Duration) {
	if to == w.now {
		return
	}
	w.series.reach(to-1, w.state)
	passed := (to - w.now).Seconds()
	w.waitingArea += float64(w.waiting) * passed
	w.runningArea += float64(w.running) * passed
	w.now = to
}

// count keeps the sums over engines after one of them has changed.
func (w *world) count(e *engine) {
	was := e.counted
	e.counted = e.gauges
	w.waiting += e.waiting - was.waiting
	w.waitingTokens += e.waitingTokens - was.waitingTokens
	w.running += e.running - was.running
	w.waitingPeak, w.runningPeak = max(w.waitingPeak, w.waiting), max(w.runningPeak, w.running)
}

func (w *world) state() plot.Sample {
	s := plot.Sample{Waiting: float64(w.waiting), Running: float64(w.running)}
	for _, e := range w.engines {
		c := e.pages()
		s.Free += float64(c.Free)
		s.Evictable += float64(c.Evictable)
		s.Locked += float64(c.Protected)
		s.Leased += float64(c.Leased)
	}
	return s
}

func (w *world) firstToken(id messages.RequestID, after time.Duration) {
	w.ttft.Add(after)
	w.series.total.First++
	w.series.total.ttft += after
	if w.router != nil {
		w.router.Started(id)
	}
}

func (w *world) nextToken(after time.Duration) {
	w.itl.Add(after)
	w.series.total.Tokens++
	w.series.total.itl += after
}

func (w *world) requestEnded(id messages.RequestID, after time.Duration) {
	w.e2e.Add(after)
	if w.router != nil {
		w.router.Ended(id)
	}
}

func (w *world) progress() {
	if w.opt.Progress == nil {
		return
	}
	read, size := w.source.from.Progress()
	w.opt.Progress(Progress{Requests: w.e2e.Count(), Seconds: w.now.Seconds(), Read: read, Bytes: size})
}
