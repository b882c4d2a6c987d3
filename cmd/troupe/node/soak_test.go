package node

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// soakClients is the number of clients: enough for a queue, but not far more than a device
// under the race detector can serve.
var soakClients = func() int {
	if racedetector.Enabled {
		return 24
	}
	return 64
}()

// soakTime is how long the clients run.
func soakTime(t *testing.T) time.Duration {
	if !soak {
		return 3 * time.Second
	}
	s := os.Getenv("TROUPE_SOAK_TIME")
	if s == "" {
		return 5 * time.Minute
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatalf("TROUPE_SOAK_TIME=%q: %v; write it like 90s", s, err)
	}
	return d
}

// TestSoak runs 64 clients (24 under the race detector): valid requests with known
// answers, clients that disconnect or read slowly, invalid requests, flushes, aborts and
// audits. Afterwards no request is open and no page, goroutine or memory has leaked.
func TestSoak(t *testing.T) {
	c := settings(t)
	c.HTTP.Port, c.Pool.MaxRunning, c.Batch.AuditEveryStep, c.DrainTimeout = 0, 16, true, 20*time.Second
	n := open(t, c, nil)
	api := n.API()
	l, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- n.Serve(ctx, api, l) }()
	s := &siege{t: t, node: n, url: "http://" + l.API.Addr().String(),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: soakClients}}}
	s.learn()
	eventually(t, "the weights' hash", func() bool { return n.hash.Load() != nil })

	total := soakTime(t)
	// Until every pool, table and buffer has its final size. Those of the device grow to
	// the largest step, which the clients might reach late: so a prompt that is longer
	// than those of all rows together comes first.
	if status, text, err := s.post("/v1/completions", body{"prompt": strings.Repeat("The bird saw. ", 100), "max_tokens": 1}); err != nil || status != http.StatusOK {
		t.Fatalf("a long prompt: %d %s %v", status, text, err)
	}
	s.run(total/3, 1)
	goroutines, heap := s.rest(0)
	s.run(total, 2)
	goroutinesNow, heapNow := s.rest(goroutines)
	t.Logf("%v; %d goroutines then %d, live heap %d KiB then %d KiB", s.counts, goroutines, goroutinesNow, heap>>10, heapNow>>10)
	if goroutinesNow > goroutines {
		stacks := make([]byte, 1<<18)
		t.Errorf("%d goroutines, %d before:\n%s", goroutinesNow, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	if float64(heapNow) > 1.05*float64(heap) {
		t.Errorf("the live heap is %d bytes, was %d: more than 5 %% are left behind", heapNow, heap)
	}
	for _, kind := range acts {
		if s.counts[kind] == 0 {
			t.Errorf("no client was ever %s", kind)
		}
	}
	if v := n.Meter.Values(); v[string(messages.EpochsStarted)] != 1 || v[string(messages.AuditsFailed)] != 0 {
		t.Errorf("the engine recovered from something: %v epochs, %v failed audits", v[string(messages.EpochsStarted)], v[string(messages.AuditsFailed)])
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// run runs the clients for a time.
func (s *siege) run(d time.Duration, seed uint64) {
	s.t.Helper()
	s.counts = map[string]int{}
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for i := range uint64(soakClients) {
		wg.Go(func() { s.client(seed*1000+i, end) })
	}
	wg.Wait()
	if s.t.Failed() {
		s.t.FailNow()
	}
}

// rest waits until no request is open, flushes the cache and counts goroutines and memory.
// On a busy machine connections close slowly, so extra goroutines get some seconds.
func (s *siege) rest(most int) (goroutines int, heap uint64) {
	s.t.Helper()
	eventually(s.t, "the last request to end", func() bool { return s.node.Meter.Values()[string(messages.RequestsOpen)] == 0 })
	balanced(s.t, s.node)
	if status, text, err := s.post("/flush_cache", body{}); err != nil || status != http.StatusOK {
		s.t.Fatalf("flush: %d %s %v", status, text, err)
	}
	s.http.CloseIdleConnections()
	patience := time.Now().Add(10 * time.Second)
	for steady := 0; steady < 20; steady++ { // connections take a moment to close
		<-time.After(5 * time.Millisecond)
		now := runtime.NumGoroutine()
		if now != goroutines || most > 0 && now > most && time.Now().Before(patience) {
			goroutines, steady = now, 0
		}
	}
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return goroutines, m.HeapAlloc
}
