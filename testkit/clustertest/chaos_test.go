package clustertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// chaosLength is how long the faults last: TROUPE_CHAOS, or a few seconds in usual tests.
func chaosLength(t *testing.T) (d time.Duration, long bool) {
	text := os.Getenv("TROUPE_CHAOS")
	if text == "" {
		return 6 * time.Second, false
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("TROUPE_CHAOS=%q: %v; write it like 30m", text, err)
	}
	return d, true
}

func chaosSeed(t *testing.T) uint64 {
	text := os.Getenv("TROUPE_SEED")
	if text == "" {
		return uint64(time.Now().UnixNano()) % 1e6
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("TROUPE_SEED=%q: %v", text, err)
	}
	return seed
}

// load is clients that send requests with known answers, one after the other.
type load struct {
	t        *testing.T
	client   *Client
	gateways []*Node
	requests []*Request
	want     []Answer
	answered atomic.Int64
	again    atomic.Int64 // sent more than once
	mu       sync.Mutex
	pauses   Pauses // the longest silence of each stream
	failed   atomic.Bool
}

// run runs clients until ctx ends, and then lets their last requests end.
func (l *load) run(ctx context.Context, clients int, seed uint64) {
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for n := 0; ctx.Err() == nil && !l.failed.Load(); n++ {
				l.one(i+n, r.IntN(len(l.requests)))
			}
		})
	}
	all.Wait()
}

// one sends a request and checks its answer.
func (l *load) one(number, i int) {
	ctx, cancel := context.WithTimeout(l.t.Context(), 3*time.Minute)
	defer cancel()
	last, longest := time.Now(), time.Duration(0)
	c := &Client{HTTP: l.client.HTTP, Event: func(_ *Request, at time.Time) { longest, last = max(longest, at.Sub(last)), at }}
	q := l.requests[i]
	got, sent, err := c.DoAnywhere(ctx, l.gateways, number, q)
	if err != nil {
		l.failed.Store(true)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("it has hung: %w", err)
		}
		l.t.Errorf("request %d, %s %v, sent %d times: %v", i, q.Path, q.Body, sent, err)
		return
	}
	if d := Differ(got, l.want[i]); d != "" {
		l.failed.Store(true)
		l.t.Errorf("request %d, %s %v, sent %d times, differs %s", i, q.Path, q.Body, sent, d)
	}
	l.answered.Add(1)
	if sent > 1 {
		l.again.Add(1)
	} else if q.Stream {
		l.mu.Lock()
		l.pauses = append(l.pauses, longest)
		l.mu.Unlock()
	}
}

// TestChaos runs 64 streams over two gateways and three engines while processes die,
// pause and restart, and links are cut, slow, half open or silent. TROUPE_CHAOS=30m is how
// long (make chaos), TROUPE_SEED=N repeats the plan of a seed. Afterwards no answer
// differs, none is lost, and every process is as it was before.
func TestChaos(t *testing.T) {
	length, long := chaosLength(t)
	var network *Network
	if err := canIsolate(); err != nil {
		t.Logf("no link is cut without a reset here: %v", err)
	} else if network = Isolated(t); network == nil {
		return // the inner process has run the test
	}
	seed, clients, every := chaosSeed(t), 64, time.Second
	t.Logf("TROUPE_SEED=%d; %v", seed, length)
	l := Lengths{30, 200}
	if !long {
		clients, every, l = 16, 300*time.Millisecond, Lengths{20, 60}
	}
	requests := Workload(seed, 200, l)
	x := &load{t: t, client: NewClient(clients), requests: requests, want: reference(t, requests)}
	c := Start(t, Options{Gateways: 2, Engines: 3, Proxied: true, Network: network,
		Args: []string{"--debug-step-time", "20ms", "--debug-chaos", "--cluster-peer-timeout", "1s"}})
	x.gateways = c.Gateways
	base := warmUp(t, c, x, clients)

	chaos := NewChaos(c)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { x.run(ctx, clients, seed) })
	if err := chaos.Run(ctx, Plan(seed, length, every)); err != nil {
		t.Error(err)
	}
	stop()
	running.Wait()
	t.Logf("TROUPE_SEED=%d: %d requests, %d sent again by their clients; faults:%s\nlongest pauses of streams, %v",
		seed, x.answered.Load(), x.again.Load(), chaos.Counts(), x.pauses)
	if missing := chaos.Missing(); len(missing) > 0 && long {
		t.Errorf("these faults never came: %q", missing)
	}
	c.Settled()
	x.client.HTTP.CloseIdleConnections()
	settleAtRest(t, c, base)
}

// warmUp sends requests without faults, so that buffers have their size, and measures the
// nodes at rest: gateways and engines, the largest of each.
func warmUp(t *testing.T, c *Cluster, x *load, clients int) (base map[bool]Rest) {
	t.Helper()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() { x.one(i, i%len(x.requests)) })
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	x.pauses = nil
	x.client.HTTP.CloseIdleConnections()
	base = map[bool]Rest{}
	for _, n := range c.Nodes() {
		r, b := n.AtRest(), base[n.Gateway]
		base[n.Gateway] = Rest{max(r.Goroutines, b.Goroutines), max(r.Heap, b.Heap)}
	}
	return base
}

// settleAtRest checks that every node is as it was before the faults. Connections that
// nobody has ended may take some seconds.
func settleAtRest(t *testing.T, c *Cluster, base map[bool]Rest) {
	t.Helper()
	for _, n := range c.Nodes() {
		why := ""
		for end := time.Now().Add(30 * time.Second); ; {
			r := n.AtRest()
			if why = r.Exceeds(base[n.Gateway]); why == "" {
				t.Logf("%s at rest: %v goroutines, %.1f MiB", n.Name, r.Goroutines, r.Heap/(1<<20))
				break
			}
			if time.Now().After(end) {
				t.Errorf("%s: %s\n%s", n.Name, why, n.Goroutines())
				break
			}
		}
	}
}
