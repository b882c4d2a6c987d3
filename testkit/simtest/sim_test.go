package simtest

import (
	"math/bits"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/messages"
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
	s.Beside += o.Beside
	s.Copies += o.Copies
	s.Dropped += o.Dropped
	s.Several += o.Several
	s.Late += o.Late
	s.Cuts += o.Cuts
	s.Deaths += o.Deaths
	s.Aimed += o.Aimed
}

func TestRandomSchedules(t *testing.T) {
	from, to := seeds(t, 400, 20000)
	total := runAll(t, from, to, Random)
	t.Logf("%+v", total)
	if to-from > 100 && (total.Retractions == 0 || total.Flushes == 0 || total.Refusals == 0 || total.Replaced == 0 || total.Beside == 0 || total.Copies == 0 || total.Dropped == 0 || total.Several == 0 || total.Late == 0 || total.Epochs == int(to-from)) {
		t.Errorf("something was never exercised: %+v", total)
	}
}

// TestPressureBesideARunningStep keeps memory short with two steps in flight:
// plans are made of the last pages while steps still read what they give away.
func TestPressureBesideARunningStep(t *testing.T) {
	from, to := seeds(t, 150, 5000)
	total := runAll(t, from, to, func(seed uint64) Config {
		size := []int{1, 4}[seed%2]
		return Config{
			Seed: seed, Requests: 14, PageSize: size, Pages: paging.Pages(40, size) * 2, MaxRunning: 5, Chunk: 7, ContextLength: 40,
			Ratio: 0.05, StepsInFlight: 2, TokensPerStep: 1 + int(seed%4/3)*2, Cancels: 0.1,
		}
	})
	t.Logf("%+v", total)
	if to-from > 100 && (total.Copies == 0 || total.Dropped == 0 || total.Retractions == 0 || total.Settled == 0) {
		t.Errorf("something was never exercised: %+v", total)
	}
}

// TestMatrix runs the same requests under everything that must not change the
// output; each run is compared with the same twin.
func TestMatrix(t *testing.T) {
	var configs []Config
	seeds := 1
	if os.Getenv("TROUPE_SOAK") == "1" {
		seeds = 20
	}
	for seed := range seeds {
		for _, page := range []int{1, 4, 16} {
			for _, chunk := range []int{7, 64, 0} {
				for _, rows := range []int{1, 4, 64} {
					for variant := range 8 {
						c := Config{
							Seed: uint64(seed + 1), Requests: 12, PageSize: page, Chunk: chunk, MaxRunning: rows, ContextLength: 64,
							Pages: 160 / page, CacheDisabled: variant&1 > 0, Ratio: 0.1,
							// In each cell of the other factors half of the variants, and
							// half of those with each one of them.
							StepsInFlight: 1 + bits.OnesCount(uint(variant))%2, TokensPerStep: 1 + 3*(len(configs)%3/2),
						}
						if variant&2 > 0 {
							c.RetractEvery = 3
						}
						if variant&4 > 0 {
							c.Crashes, c.DeviceErrors = 0.004, 0.01
						}
						configs = append(configs, c)
					}
				}
			}
		}
	}
	total := runAll(t, 0, uint64(len(configs)), func(i uint64) Config { return configs[i] })
	t.Logf("%d configs: %+v", len(configs), total)
	if total.Steps == 0 || total.Retractions == 0 || total.Beside == 0 || total.Copies == 0 || total.Several == 0 {
		t.Errorf("nothing was exercised: %+v", total)
	}
}

// TestCrashPoints panics in each role at each of its first messages, and at
// some later ones.
func TestCrashPoints(t *testing.T) {
	points := 20
	if os.Getenv("TROUPE_SOAK") == "1" {
		points = 200
	}
	var configs []Config
	for _, role := range []messages.Actor{messages.Intake, messages.Queue, messages.Former, messages.Cache, messages.Allocator, messages.Runner} {
		for i := range points {
			configs = append(configs, Config{
				Seed: uint64(i + 1), Requests: 8, PageSize: 4, Pages: 40, MaxRunning: 4, Chunk: 16, ContextLength: 60,
				Ratio: 0.1, Cancels: 0.2, StepsInFlight: 1 + i%2, CrashRole: role, CrashAt: 1 + i + i/10*7,
			})
		}
	}
	total := runAll(t, 0, uint64(len(configs)), func(i uint64) Config { return configs[i] })
	// The later points lie behind the end of some runs.
	if want := len(configs) * 5 / 4; total.Epochs < want {
		t.Errorf("%d runs had %d epochs, want at least %d: too few crashed", len(configs), total.Epochs, want)
	}
}

// TestClusters has engines behind a gateway, whose links are cut and begin again.
func TestClusters(t *testing.T) {
	from, to := seeds(t, 400, 10000)
	total := runAll(t, from, to, func(seed uint64) Config {
		c := Random(seed)
		c.Cluster, c.Engines, c.Gateways, c.Cuts, c.Deaths = true, 1+int(seed%4), 1, []float64{0, 0.0005, 0.003}[seed%3], 0
		return c
	})
	t.Logf("%+v", total)
	if to-from > 100 && (total.Cuts == 0 || total.Flushes == 0 || total.Retractions == 0 || total.Steps == 0) {
		t.Errorf("something was never exercised: %+v", total)
	}
}

// TestGateways has several gateways over the same engines, and processes that die. A dead
// gateway loses its clients, and nobody else's.
func TestGateways(t *testing.T) {
	from, to := seeds(t, 400, 10000)
	total := runAll(t, from, to, func(seed uint64) Config {
		c := Random(seed)
		c.Cluster, c.Engines, c.Gateways = true, 1+int(seed%3), 2+int(seed/3%2)
		c.Cuts, c.Deaths = []float64{0, 0.0005, 0.003}[seed/6%3], []float64{0, 0.0005, 0.002}[seed/18%3]
		return c
	})
	t.Logf("%+v", total)
	if to-from > 100 && (total.Cuts == 0 || total.Deaths == 0 || total.Flushes == 0 || total.Retractions == 0 || total.Steps == 0) {
		t.Errorf("something was never exercised: %+v", total)
	}
}

// TestPoison has requests that kill the process of their engine each time they are computed.
// Each ends with an error after three deaths. All others finish, with the right bytes. With
// one gateway this also holds if a process dies before it can report what it has admitted,
// but that may take some more deaths.
func TestPoison(t *testing.T) {
	from, to := seeds(t, 300, 10000)
	total := runAll(t, from, to, func(seed uint64) Config {
		c := Random(seed)
		c.Cluster, c.Gateways, c.Engines, c.Poison, c.SuspectLimit = true, 1+int(seed/2%2), 2+int(seed%2), true, 2
		c.Cuts, c.Deaths, c.Crashes, c.DeviceErrors, c.Cancels = 0, 0, 0, 0, 0
		c.AtOnce = c.Gateways == 1 && seed%5 == 0
		return c
	})
	t.Logf("%+v", total)
	if total.Deaths < 3*int(to-from) {
		t.Errorf("in %d runs %d engines died", to-from, total.Deaths)
	}
}

// TestClusterCrashPoints panics in what a cluster adds, at each of its first messages and
// at some later ones.
func TestClusterCrashPoints(t *testing.T) {
	points := 20
	if os.Getenv("TROUPE_SOAK") == "1" {
		points = 200
	}
	var configs []Config
	for _, role := range []messages.Actor{messages.Intake, messages.Dispatch, messages.Link, messages.Portal} {
		for i := range points {
			configs = append(configs, Config{
				Seed: uint64(i + 1), Requests: 8, PageSize: 4, Pages: 40, MaxRunning: 4, Chunk: 16, ContextLength: 60, Ratio: 0.1, Cancels: 0.2,
				StepsInFlight: 1 + i%2, Cluster: true, Gateways: 2, Engines: 2, CrashRole: role, CrashAt: 1 + i + i/10*7,
			})
		}
	}
	total := runAll(t, 0, uint64(len(configs)), func(i uint64) Config { return configs[i] })
	// All but those of intake end links: a portal's two, and the later points lie behind
	// the end of some runs.
	if want := points * 3; total.Cuts < want {
		t.Errorf("%d runs had %d cuts, want at least %d: too few crashed", len(configs), total.Cuts, want)
	}
}

// TestPortalCrashPoints panics in the portal at each type of message that it handles, the
// first ones and some later ones. Epochs come and go meanwhile.
func TestPortalCrashPoints(t *testing.T) {
	from, to := seeds(t, 24, 1000)
	for _, on := range portalMessages(t) {
		total := runAll(t, from, to, func(seed uint64) Config {
			return Config{
				Seed: seed, Requests: 24, PageSize: 4, Pages: 40, MaxRunning: 4, Chunk: 16, ContextLength: 60, Ratio: 0.1, Cancels: 0.2,
				StepsInFlight: 1 + int(seed%2), Cluster: true, Gateways: 2, Engines: 1 + int(seed/2%2), Crashes: 0.003,
				CrashRole: messages.Portal, CrashAt: 1 + int(seed/4%4), CrashOn: on,
			}
		})
		if t.Failed() {
			return
		}
		if to-from > 20 && total.Aimed == 0 {
			t.Errorf("in %d runs no portal crashed at a %s", to-from, on)
		}
	}
}

// portalMessages are the types that a portal accepts, from the source.
func portalMessages(t *testing.T) (names []string) {
	source, err := os.ReadFile("../../messages/portal.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`func \(\*(\w+)\) toPortal\(\)`).FindAllStringSubmatch(string(source), -1) {
		names = append(names, m[1])
	}
	if len(names) < 15 {
		t.Fatalf("messages/portal.go names only %v", names)
	}
	return names
}

// A run replays from its seed, message for message.
func TestRunsReplay(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		first, err1 := Run(Random(seed))
		second, err2 := Run(Random(seed))
		if first != second || err1 != nil || err2 != nil {
			t.Errorf("seed %d: %+v (%v), then %+v (%v)", seed, first, err1, second, err2)
		}
	}
}
