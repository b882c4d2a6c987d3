package clustertest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// alone: nothing else runs on this machine, so real time can be measured.
var alone = os.Getenv("TROUPE_ALONE") == "1"

func onlyAlone(t *testing.T) {
	t.Helper()
	if !alone {
		t.Skip("measures real time; set TROUPE_ALONE=1 where nothing else runs, as make failover does")
	}
}

// flow is a stream whose tokens are watched.
type flow struct {
	mu     sync.Mutex
	events []time.Time
}

func (f *flow) add(_ *Request, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, at)
}

// silence is the longest time without a token since a fault.
func (f *flow) silence(fault time.Time) (longest time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := fault
	for _, at := range f.events {
		if at.After(fault) {
			longest, last = max(longest, at.Sub(last)), at
		}
	}
	return longest
}

// since counts the events after a time.
func (f *flow) since(fault time.Time) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, at := range f.events {
		if at.After(fault) {
			n++
		}
	}
	return n
}

const (
	flows    = 16
	flowStep = 20 * time.Millisecond
	// flowTokens are more than a stream needs until it has gone on: it is left then. The time
	// to compute a long one again is not measured.
	flowTokens = 900
)

// failover breaks the engine that computes all streams, again and again, and measures how
// long they are silent. breaks takes an engine out, mend lets it join again. Streams begin
// while one engine is there, so all are on it when it breaks.
func failover(t *testing.T, peerTimeout time.Duration, faults int, opt Options, breaks func(*Node) time.Time, mend func(*Node)) (silences Pauses) {
	opt.Gateways, opt.Engines = 1, 2
	opt.Args = append(opt.Args, "--debug-step-time", flowStep.String(), "--cluster-peer-timeout", peerTimeout.String())
	c := Start(t, opt)
	g, busy, out := c.Gateways[0], c.Engines[0], c.Engines[1]
	client := NewClient(flows)
	breaks(out)
	for range faults {
		Eventually(t, "the gateway has one engine", patience, func() bool { return g.Engines() == 1 })
		ctx, leave := context.WithCancel(t.Context())
		var list []*flow
		var all sync.WaitGroup
		for i := range flows {
			f := &flow{}
			list = append(list, f)
			q := &Request{Path: "/v1/completions", Stream: true, Body: map[string]any{"prompt": continuations[i%len(continuations)], "stream": true,
				"max_tokens": flowTokens, "ignore_eos": true, "seed": i, "temperature": 1}}
			all.Go(func() {
				one := &Client{HTTP: client.HTTP, Event: f.add}
				if _, err := one.Do(ctx, g.URL, q); err != nil && ctx.Err() == nil {
					t.Errorf("a stream: %v", err)
				}
			})
		}
		for _, f := range list {
			Eventually(t, "every stream has tokens", patience, func() bool { return f.since(time.Time{}) >= 3 })
		}
		mend(out)
		Eventually(t, "the gateway has two engines", patience, func() bool { return g.Engines() == 2 })
		at := breaks(busy)
		for _, f := range list {
			Eventually(t, "every stream goes on", patience, func() bool { return f.since(at) >= 20 })
			silences = append(silences, f.silence(at))
		}
		leave()
		all.Wait()
		t.Logf("%v", silences[len(silences)-flows:])
		busy, out = out, busy
		if t.Failed() {
			t.FailNow()
		}
	}
	mend(out)
	return silences
}

func summarize(t *testing.T, what string, p Pauses, most time.Duration) {
	t.Helper()
	fmt.Printf("| %s | %d | %v | %v | %v | %v |\n", what, len(p), round(p.At(0.5)), round(p.At(0.9)), round(p.At(0.99)), round(p.At(1)))
	if p.At(0.99) >= most {
		t.Errorf("%s: the 99th percentile is %v; want less than %v", what, p.At(0.99), most)
	}
}

// TestFailover measures how long the streams that an engine computes have no token after
// its fault. That includes a step, which takes 20 ms.
func TestFailover(t *testing.T) {
	onlyAlone(t)
	fmt.Println("| fault | streams | p50 | p90 | p99 | max |\n|---|---|---|---|---|---|")
	t.Run("killed", func(t *testing.T) {
		p := failover(t, time.Second, 15, Options{}, (*Node).Kill, (*Node).Start)
		summarize(t, "kill -9", p, 100*time.Millisecond)
	})
	for _, timeout := range []time.Duration{time.Second, 2 * time.Second} {
		t.Run("paused "+timeout.String(), func(t *testing.T) {
			p := failover(t, timeout, 5, Options{}, func(n *Node) time.Time {
				at := time.Now()
				if err := n.Pause(); err != nil {
					t.Fatal(err)
				}
				return at
			}, func(n *Node) {
				if err := n.Continue(); err != nil {
					t.Error(err)
				}
			})
			summarize(t, fmt.Sprintf("SIGSTOP, peer timeout %v", timeout), p, timeout+500*time.Millisecond)
		})
		t.Run("frozen "+timeout.String(), func(t *testing.T) {
			var thaw func()
			p := failover(t, timeout, 5, Options{AllProxied: true}, func(n *Node) time.Time {
				at := time.Now()
				_, thaw = n.Proxy.Freeze(-1)
				return at
			}, func(*Node) { thaw() })
			summarize(t, fmt.Sprintf("its incoming connections frozen, peer timeout %v", timeout), p, timeout+500*time.Millisecond)
		})
	}
}

// TestCutOffFailover is TestFailover for an engine whose packets are all lost.
func TestCutOffFailover(t *testing.T) {
	onlyAlone(t)
	network := Isolated(t)
	if network == nil {
		return
	}
	const timeout = 2 * time.Second
	p := failover(t, timeout, 5, Options{Network: network}, func(n *Node) time.Time {
		at := time.Now()
		if err := n.Place.Cut(); err != nil {
			t.Fatal(err)
		}
		return at
	}, func(n *Node) {
		if err := n.Place.Mend(); err != nil {
			t.Error(err)
		}
	})
	summarize(t, fmt.Sprintf("cut off, peer timeout %v", timeout), p, timeout+500*time.Millisecond)
}

// TestSaturated keeps all processors busy, with streams and with other programs: no link
// may end, because a slow node is not a lost one. TROUPE_SOAK_TIME is how long (10m).
func TestSaturated(t *testing.T) {
	onlyAlone(t)
	length := 10 * time.Minute
	if text := os.Getenv("TROUPE_SOAK_TIME"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	requests := Workload(3, 200, Lengths{30, 200})
	x := &load{t: t, client: NewClient(64), requests: requests, want: reference(t, requests)}
	c := Start(t, Options{Gateways: 2, Engines: 3})
	x.gateways = c.Gateways
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var hogs sync.WaitGroup
	for range runtime.NumCPU() { // beside the streams
		hogs.Go(func() {
			for ctx.Err() == nil {
				for range 1 << 20 {
				}
			}
		})
	}
	x.run(ctx, 64, 3)
	hogs.Wait()
	fmt.Printf("%v of saturated processors: %d requests; longest pauses of streams, %v\n", length, x.answered.Load(), x.pauses)
	for _, n := range c.Nodes() {
		for line := range strings.Lines(n.Log()) {
			if strings.Contains(line, `"event":"unlinked"`) || strings.Contains(line, `"event":"lost"`) {
				t.Errorf("%s: %s", n.Name, strings.TrimSpace(line))
			}
		}
	}
}
