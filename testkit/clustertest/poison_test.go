package clustertest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// poison is a token id that no other prompt or text of the test contains.
const poison = 777

// TestARequestThatKillsItsEngineEndsAlone: engines die of a request and are started again.
// It ends with 500 after three deaths, and nobody else notices.
func TestARequestThatKillsItsEngineEndsAlone(t *testing.T) {
	requests := Workload(5, 60, Lengths{40, 120})
	want := reference(t, requests)
	c := Start(t, Options{Gateways: 1, Engines: 3, Args: []string{"--debug-step-time", "20ms"},
		EngineArgs: []string{"--debug-chaos", "--debug-kill-token", strconv.Itoa(poison)}})

	// What starts processes again, as an operator's supervisor does.
	ctx, stop := context.WithCancel(t.Context())
	var keepers sync.WaitGroup
	var mu sync.Mutex
	deaths := 0
	for _, n := range c.Engines {
		keepers.Go(func() {
			for {
				select {
				case <-n.Exited():
					mu.Lock()
					deaths++
					mu.Unlock()
					n.Start()
				case <-ctx.Done():
					return
				}
			}
		})
	}
	defer keepers.Wait()
	defer stop()

	x := &load{t: t, client: NewClient(24), gateways: c.Gateways, requests: requests, want: want}
	running, finish := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { x.run(running, 24, 5) })
	Eventually(t, "others run", patience, func() bool { return c.Gateways[0].Metric("troupe_num_running_reqs") >= 10 || x.answered.Load() > 0 })
	start := time.Now()
	_, err := x.client.Do(ctx, c.Gateways[0].URL, &Request{Path: "/v1/completions", Body: map[string]any{"prompt": []int{poison, 101, 102}, "max_tokens": 50, "seed": 1}})
	took := time.Since(start)
	var failure *Failure
	if !errors.As(err, &failure) || failure.Status != http.StatusInternalServerError || !strings.Contains(failure.Text, "generation_failed") {
		t.Errorf("the request that kills ends with %v; want 500 generation_failed", err)
	}
	finish()
	others.Wait()
	mu.Lock()
	if t.Logf("%d deaths in %v, %d other answers; longest pauses of streams, %v", deaths, took, x.answered.Load(), x.pauses); deaths != 3 {
		t.Errorf("%d engines have died; want 3", deaths)
	}
	mu.Unlock()
	c.Settled()
	for _, n := range c.Nodes() {
		n.AtRest()
	}
}
