package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/lab/measure"
)

// overloadServer makes a test binary run the server of TestOverload.
const overloadServer = "TROUPE_OVERLOAD_SERVER"

// TestServeForOverload is the server, in its own process so that its CPU time can be
// measured apart from the clients'. It answers each line of stdin with its resources,
// and ends when stdin ends.
func TestServeForOverload(t *testing.T) {
	if os.Getenv(overloadServer) == "" {
		t.Skip("is the server of TestOverload")
	}
	c := settings(t)
	c.HTTP.Port, c.Requests.QueueTimeout, c.DrainTimeout, c.Pool.MaxTotalTokens = 0, overloadTimeout, time.Second, 32768
	n, err := Open(t.Context(), Options{Config: c, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- n.Serve(ctx, n.API(), l) }()
	fmt.Printf("url http://%s\n", l.API.Addr())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		v := n.Meter.Values()
		fmt.Printf("holds %d %d %d %g %g\n", measure.CPUTime(), runtime.NumGoroutine(), m.HeapAlloc, v["num_open_reqs"], v["num_queue_reqs"])
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	shut(t, n)
}

// overloadTimeout is the server's queue-timeout, shorter than the run.
const overloadTimeout = 10 * time.Second

// holding has the resources of a server.
type holding struct {
	cpu         time.Duration
	goroutines  int
	heap        uint64
	open, queue float64
}

// overloaded is a server and its clients.
type overloaded struct {
	t      *testing.T
	last   atomic.Int64 // number of a request; no two have the same prompt
	server *child
	http   *cheapClient
}

func startOverloaded(t *testing.T) *overloaded {
	t.Helper()
	o := &overloaded{t: t, server: startChild(t, "TestServeForOverload", overloadServer+"=1")}
	t.Cleanup(func() {
		o.server.stdin.Close()
		o.server.wait()
	})
	o.http = &cheapClient{address: strings.TrimPrefix(o.server.line("url"), "http://")}
	return o
}

func (o *overloaded) holds() (h holding) {
	o.t.Helper()
	fmt.Fprintln(o.server.stdin)
	if _, err := fmt.Sscanf(o.server.line("holds"), "%d %d %d %g %g", &h.cpu, &h.goroutines, &h.heap, &h.open, &h.queue); err != nil {
		o.t.Fatal(err)
	}
	return h
}

// tally counts the results of a window's requests.
type tally struct {
	mu                     sync.Mutex
	waits                  []time.Duration // of requests that were served, to the end
	refused, expired, left int
	pauses                 map[int]int // Retry-After of refusals
	strange                string      // an unexpected answer
}

// call sends one request and counts its result if the window has not ended.
func (o *overloaded) call(ctx context.Context, n *tally) {
	body := fmt.Appendf(nil, `{"prompt": "%d little birds sat in a tree and looked at the river. The first bird", "max_tokens": 256, "ignore_eos": true, "seed": 1}`, 10_000_000+o.last.Add(1))
	end, _ := ctx.Deadline()
	start := time.Now()
	a, err := o.http.post("/v1/completions", body, end)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) || err != nil && ctx.Err() != nil:
		n.left++
	case err != nil:
		n.strange = err.Error()
	case a.status == http.StatusOK:
		n.waits = append(n.waits, time.Since(start))
	case a.status == http.StatusTooManyRequests:
		n.refused++
		n.pauses[a.retryAfter]++
	case a.status == http.StatusServiceUnavailable && bytes.Contains(a.text, []byte("queue-timeout")):
		n.expired++
	default:
		n.strange = fmt.Sprintf("%d %s", a.status, a.text)
	}
}

// window runs clients for a time and returns the results of their requests, the CPU time
// not used by them, and that of the server, both as numbers of processors.
func (o *overloaded) window(d time.Duration, drive func(ctx context.Context, n *tally)) (n *tally, free, server float64) {
	n = &tally{pauses: map[int]int{}}
	before, own, start := o.holds(), measure.CPUTime(), time.Now()
	ctx, stop := context.WithTimeout(context.Background(), d)
	defer stop()
	drive(ctx, n)
	took := time.Since(start).Seconds()
	free = float64(runtime.NumCPU()) - (measure.CPUTime()-own).Seconds()/took
	return n, free, (o.holds().cpu - before.cpu).Seconds() / took
}

// closed runs n clients, each with one request at a time.
func (o *overloaded) closed(clients int) func(context.Context, *tally) {
	return func(ctx context.Context, n *tally) {
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for ctx.Err() == nil {
					o.call(ctx, n)
				}
			})
		}
		wg.Wait()
	}
}

// open sends requests at a fixed rate.
func (o *overloaded) open(rate float64, sent *int) func(context.Context, *tally) {
	return func(ctx context.Context, n *tally) {
		r := rand.New(rand.NewPCG(10, 10))
		var wg sync.WaitGroup
		next := time.Now()
		for ctx.Err() == nil {
			for ; !next.After(time.Now()); *sent++ {
				wg.Go(func() { o.call(ctx, n) })
				next = next.Add(time.Duration(r.ExpFloat64() / rate * float64(time.Second)))
			}
			<-time.After(time.Until(next))
		}
		wg.Wait()
	}
}

// TestOverload sends ten times what a server can do, for half a minute. It goes
// on at its full speed, of what processor time the clients leave it; those that
// it takes are served in time; and five seconds later nothing is left. A refusal
// costs the server less than a tenth of a millisecond, so that the answers must
// not be tiny ones: of the embedded model two processors make 280 a second of 64
// tokens, and 2,800 requests a second take them a third of their time.
func TestOverload(t *testing.T) {
	if !soak && !alone {
		t.Skip("takes a minute; the simulated form is request.TestOverload. Set TROUPE_SOAK=1, or TROUPE_ALONE=1 where nothing else runs")
	}
	o := startOverloaded(t)
	// Pools and tables grow to their final size.
	warm, _, _ := o.window(3*time.Second, o.closed(128))
	o.window(8*time.Second, o.open(10*float64(len(warm.waits))/3, new(int)))
	o.http.close()
	rest, steady := o.holds(), 0
	eventually(t, "the server to rest", func() bool { // connections take a moment to close
		now := o.holds()
		if steady++; now.open > 0 || now.goroutines != rest.goroutines {
			steady = 0
		}
		rest = now
		return steady == 20
	})

	const peakTime, overTime = 10 * time.Second, 30 * time.Second
	peak, peakFree, peakServer := o.window(peakTime, o.closed(128))
	capacity := float64(len(peak.waits)) / peakTime.Seconds()
	sent := 0
	over, overFree, overServer := o.window(overTime, o.open(10*capacity, &sent))
	ended := time.Now()
	goodput := float64(len(over.waits)) / overTime.Seconds()

	o.http.close()
	var now holding
	for now = o.holds(); time.Since(ended) < 5*time.Second; now = o.holds() {
		if now.open == 0 && now.queue == 0 && now.goroutines <= rest.goroutines {
			break
		}
		<-time.After(50 * time.Millisecond)
	}
	back := time.Since(ended)

	slices.Sort(over.waits)
	p99 := time.Duration(0)
	if len(over.waits) > 0 {
		p99 = over.waits[len(over.waits)*99/100]
	}
	ratio := (goodput / overFree) / (capacity / peakFree)
	t.Logf("capacity %.0f/s with %.2f processors that clients leave and %.2f used; %d requests in %s, %.0f/s: %d served (%.0f/s) with %.2f processors left and %.2f used, ratio %.2f plain and %.2f by processor; %d refused, %d expired, %d still open; Retry-After %v; p99 %s; at rest after %s: %+v, before %+v",
		capacity, peakFree, peakServer, sent, overTime, float64(sent)/overTime.Seconds(), len(over.waits), goodput, overFree, overServer, goodput/capacity, ratio,
		over.refused, over.expired, over.left, over.pauses, p99, back, now, rest)
	if peak.strange+over.strange != "" {
		t.Errorf("somebody got %s %s", peak.strange, over.strange)
	}
	if rate := float64(sent) / overTime.Seconds(); rate < 9*capacity {
		t.Errorf("%.0f requests a second were sent, %.1f times the capacity", rate, rate/capacity)
	}
	if alone && ratio < 0.9 { // other programs may disturb one of the two windows
		t.Errorf("goodput is %.2f of the peak", ratio)
	}
	if over.refused == 0 || over.expired*20 > len(over.waits) {
		t.Errorf("%d refused, %d taken and given up", over.refused, over.expired)
	}
	if bound := overloadTimeout + slices.Max(peak.waits); p99 > bound { // waiting, and then being served
		t.Errorf("the p99 of those served is %s, the bound is %s", p99, bound)
	}
	if now.open+now.queue > 0 || now.goroutines > rest.goroutines || float64(now.heap) > 1.25*float64(rest.heap)+1<<20 {
		t.Errorf("after %s the server holds %+v, before %+v", back, now, rest)
	}
}
