package engine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var soak = os.Getenv("TROUPE_SOAK") == "1"

// seeds says which seeds to run: TROUPE_SEED replays one, TROUPE_SOAK=1 runs
// many.
func seeds(t *testing.T, plain, many uint64) (from, to uint64) {
	if s := os.Getenv("TROUPE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("TROUPE_SEED=%q: %v", s, err)
		}
		return n, n + 1
	}
	if soak {
		return 1, many + 1
	}
	return 1, plain + 1
}

// TestSeededSchedules runs the assembled engine in orders drawn from seeds, with
// crashes of every actor and of the supervisor, device errors, clients that
// leave and slow readers. Every client gets exactly the twin's tokens.
func TestSeededSchedules(t *testing.T) {
	base := runtime.NumGoroutine()
	from, to := seeds(t, 500, 20000)
	var next, crashes, epochs atomic.Uint64
	next.Store(from)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			system := quietSystem()
			for seed := next.Add(1) - 1; seed < to && !t.Failed(); seed = next.Add(1) - 1 {
				w, err := play(system, newPlot(seed))
				if err != nil {
					t.Error(err)
					return
				}
				crashes.Add(uint64(w.crashes))
				epochs.Add(uint64(w.epochs))
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds, %d crashes, %d epochs", to-from, crashes.Load(), epochs.Load())
	if to-from > 100 && (crashes.Load() < to-from || epochs.Load() < to-from) {
		t.Errorf("%d crashes and %d epochs in %d seeds: next to nothing was injected", crashes.Load(), epochs.Load(), to-from)
	}
	goroutinesBack(t, base)
}

// TestASeedReplays: equal seeds give equal runs, message by message.
func TestASeedReplays(t *testing.T) {
	system := quietSystem()
	for seed := range uint64(10) {
		var traces [2]uint64
		for i := range traces {
			w, err := play(system, newPlot(1000+seed))
			if err != nil {
				t.Fatal(err)
			}
			traces[i] = w.trace
		}
		if traces[0] != traces[1] {
			t.Errorf("seed %d gave two different runs", 1000+seed)
		}
	}
}

// goroutinesBack waits until no more goroutines run than at first.
func goroutinesBack(t testing.TB, base int) {
	t.Helper()
	eventually(t, fmt.Sprintf("no more than %d goroutines", base), func() bool { return runtime.NumGoroutine() <= base })
}

// eventually waits for a condition that another goroutine brings about.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for tick := time.Tick(time.Millisecond); !holds(); {
		select {
		case <-tick:
		case <-deadline:
			stacks := make([]byte, 1<<16)
			t.Fatalf("waited a minute for %s:\n%s", what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
