package simtest

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// seeds says which seeds to run: TROUPE_SEED replays one, TROUPE_SOAK=1 runs
// many.
func seeds(t *testing.T, plain, soak int) (from, to uint64) {
	if s := os.Getenv("TROUPE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("TROUPE_SEED=%q: %v", s, err)
		}
		return n, n + 1
	}
	if os.Getenv("TROUPE_SOAK") == "1" {
		return 1, uint64(soak) + 1
	}
	return 1, uint64(plain) + 1
}

// runAll simulates configs side by side and reports the first failures.
func runAll(t *testing.T, from, to uint64, config func(seed uint64) Config) (total Stats) {
	t.Helper()
	var next atomic.Uint64
	next.Store(from)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1) - 1; seed < to; seed = next.Add(1) - 1 {
				stats, err := Run(config(seed))
				mu.Lock()
				total.add(stats)
				failed := t.Failed()
				if err != nil && !failed {
					t.Errorf("%v", err)
				}
				mu.Unlock()
				if failed {
					return
				}
			}
		})
	}
	wg.Wait()
	return total
}

func (s *Stats) add(o Stats) {
	s.Delivered += o.Delivered
	s.Steps += o.Steps
	s.Epochs += o.Epochs
	s.Retractions += o.Retractions
	s.Audits += o.Audits
	s.Flushes += o.Flushes
	s.Refusals += o.Refusals
	s.Replaced += o.Replaced
	s.Settled += o.Settled
}

func TestRandomSchedules(t *testing.T) {
	from, to := seeds(t, 400, 20000)
	total := runAll(t, from, to, Random)
	t.Logf("%+v", total)
	if to-from > 100 && (total.Retractions == 0 || total.Flushes == 0 || total.Refusals == 0 || total.Replaced == 0 || total.Epochs == int(to-from)) {
		t.Errorf("something was never exercised: %+v", total)
	}
}
