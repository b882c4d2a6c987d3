package httpapi

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// probing is a prober whose probes take a while of virtual time.
type probing struct {
	*prober
	drain  context.CancelFunc
	starts []time.Duration // since the test began
	ended  int             // by their context
}

func newProbing(most int, takes time.Duration) *probing {
	p := &probing{}
	var serving context.Context
	serving, p.drain = context.WithCancel(context.Background())
	begin := time.Now()
	p.prober = &prober{serving: serving, interval: time.Second, most: most, probe: func(ctx context.Context) verdict {
		p.starts = append(p.starts, time.Since(begin))
		select {
		case <-time.After(takes):
			return verdict{status: "healthy"}
		case <-ctx.Done():
			p.ended++
			return verdict{}
		}
	}}
	return p
}

// Calls at the same time share one probe, which begins at once. A call during a
// probe shares it as well, and a call after it waits for the next second.
func TestProbesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbing(10000, 100*time.Millisecond)
		var wait sync.WaitGroup
		for i := range 5000 {
			wait.Go(func() {
				time.Sleep(time.Duration(i%2) * 50 * time.Millisecond) // virtual; half of them while it runs
				if v, err := p.ask(t.Context()); v.status != "healthy" || err != nil {
					t.Errorf("%+v, %v", v, err)
				}
			})
		}
		wait.Wait()
		if len(p.starts) != 1 || p.starts[0] != 0 {
			t.Fatalf("probes began at %v", p.starts)
		}
		for range 3 {
			if v, err := p.ask(t.Context()); v.status != "healthy" || err != nil {
				t.Errorf("%+v, %v", v, err)
			}
		}
		for i, at := range p.starts {
			if at != time.Duration(i)*time.Second {
				t.Errorf("probes began at %v", p.starts)
			}
		}
		time.Sleep(time.Hour) // virtual; after silence one begins at once
		before := time.Now()
		if _, err := p.ask(t.Context()); err != nil || time.Since(before) != 100*time.Millisecond {
			t.Errorf("after an hour of silence it took %v, %v", time.Since(before), err)
		}
		p.drain()
	})
}

// However many clients ask again and again, one probe begins per second, or when the
// previous one is over.
func TestOneProbePerSecond(t *testing.T) {
	for takes, most := range map[time.Duration]int{time.Millisecond: 10, 2 * time.Second: 5} {
		synctest.Test(t, func(t *testing.T) {
			p := newProbing(1000, takes)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second-time.Nanosecond)
			defer cancel()
			var wait sync.WaitGroup
			for range 500 {
				wait.Go(func() {
					for {
						if _, err := p.ask(ctx); err != nil {
							return
						}
					}
				})
			}
			wait.Wait()
			if len(p.starts) != most {
				t.Errorf("in ten seconds %d probes of %v began: %v", len(p.starts), takes, p.starts)
			}
			p.drain()
		})
	}
}

// A client that leaves does not affect others and leaves nothing behind. If all
// leave before a probe begins, there is none.
func TestProbesOfThoseWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbing(100, 500*time.Millisecond)
		stays := make(chan verdict, 2)
		stay := func() { v, _ := p.ask(t.Context()); stays <- v }
		go stay()
		synctest.Wait()
		for range 20 { // two thousand in all
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			var wait sync.WaitGroup
			for range 99 {
				wait.Go(func() {
					if _, err := p.ask(ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("a client that leaves gets %v", err)
					}
				})
			}
			wait.Wait()
			cancel()
		}
		before := time.Now()
		go stay()
		for range 2 { // without waiting for the turns of all that were there
			if v, took := <-stays, time.Since(before); v.status != "healthy" || took < 300*time.Millisecond || took > 300*time.Millisecond+lanePause {
				t.Errorf("a client that stays gets %+v after another %v", v, took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := p.ask(ctx); err == nil {
			t.Error("the next probe came within the second")
		}
		time.Sleep(time.Hour)
		if len(p.starts) != 1 || p.ended != 0 {
			t.Errorf("probes began at %v, %d were ended", p.starts, p.ended)
		}
		p.drain()
	})
}

// Above the bound, clients do not wait.
func TestTooManyForAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbing(3, time.Second)
		var wait sync.WaitGroup
		for range 3 {
			wait.Go(func() {
				if _, err := p.ask(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		before := time.Now()
		if _, err := p.ask(t.Context()); !errors.Is(err, errCrowded) || time.Since(before) != 0 {
			t.Errorf("the fourth gets %v after %v", err, time.Since(before))
		}
		wait.Wait()
		p.drain()
	})
}

// The shutdown of the server ends the waiting and the probe.
func TestProbesEndWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbing(1000, time.Hour)
		var wait sync.WaitGroup
		for range 200 {
			wait.Go(func() {
				if _, err := p.ask(t.Context()); !errors.Is(err, errClosed) {
					t.Errorf("at the end: %v", err)
				}
			})
		}
		synctest.Wait()
		before := time.Now()
		p.drain()
		wait.Wait()
		if _, err := p.ask(t.Context()); !errors.Is(err, errClosed) || time.Since(before) != 0 {
			t.Errorf("afterwards: %v, after %v", err, time.Since(before))
		}
		synctest.Wait()
		if p.ended != 1 {
			t.Errorf("%d probes were ended", p.ended)
		}
	})
}

// No probe begins after the shutdown: neither for a call that comes then, nor for one that
// waited for the next probe.
func TestNoProbeAfterTheShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbing(10, time.Millisecond)
		if _, err := p.ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := p.ask(t.Context()); !errors.Is(err, errClosed) { // waits for the next second
				t.Errorf("at the shutdown: %v", err)
			}
		})
		synctest.Wait()
		p.drain()
		wait.Wait()
		for range 3 {
			if _, err := p.ask(t.Context()); !errors.Is(err, errClosed) {
				t.Errorf("after the shutdown: %v", err)
			}
			time.Sleep(2 * time.Second) // virtual
		}
		if len(p.starts) != 1 {
			t.Errorf("%d probes began, the first before the shutdown", len(p.starts))
		}
	})
}

// Thousands do not go on all at once.
func TestVerdictsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbing(1000, time.Millisecond)
		var lock sync.Mutex
		var wait sync.WaitGroup
		at := map[time.Time]int{}
		for range 1000 {
			wait.Go(func() {
				if _, err := p.ask(t.Context()); err != nil {
					t.Error(err)
				}
				lock.Lock()
				at[time.Now()]++
				lock.Unlock()
			})
		}
		wait.Wait()
		if len(at) != (1000+laneWidth-1)/laneWidth {
			t.Errorf("a thousand go on at %d times", len(at))
		}
		for _, n := range at {
			if n > laneWidth {
				t.Errorf("%d go on at once", n)
			}
		}
		p.drain()
	})
}
