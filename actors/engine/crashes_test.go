package engine

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

// roles are the actors that a crash must cost nothing.
var roles = []messages.Actor{messages.Intake, messages.Queue, messages.Former, messages.Cache, messages.Allocator, messages.Runner}

// cramped makes retraction, eviction and chunks happen within a few requests.
var cramped = setup{pageSize: 4, pages: 60, chunk: 16, maxRunning: 16, inFlight: 2}

// points are n numbers in [1, last], the ends among them.
func points(n int, last int64) []int64 {
	n = min(n, int(last))
	list := make([]int64, n)
	for i := range list {
		list[i] = 1 + (last-1)*int64(i)/int64(max(n-1, 1))
	}
	return list
}

func crashPoints() int {
	if soak {
		return 20
	}
	return 4
}

// A panic in any actor, wherever in the course of the requests, costs no request
// a token and no page its owner.
func TestAPanicInAnyActorIsInvisible(t *testing.T) {
	t.Run("one engine", func(t *testing.T) { panicAnywhere(t, cramped, roles) })
	s := cramped
	s.engines = 2
	t.Run("two engines", func(t *testing.T) { panicAnywhere(t, s, append([]messages.Actor{messages.Dispatch}, roles...)) })
}

func panicAnywhere(t *testing.T, s setup, roles []messages.Actor) {
	base := runtime.NumGoroutine()
	subs := prompts(16)
	var total [messages.Dispatch + 1]atomic.Int64
	h := start(t, s, func(spec *Spec) {
		spec.Intercept = func(r messages.Actor, _ any) { total[r].Add(1) }
	})
	h.check(subs, h.read(h.submit(subs...), len(subs)))
	h.stop()
	for _, role := range roles {
		t.Run(role.String(), func(t *testing.T) {
			// How many messages an actor gets depends on the schedule, so the
			// last point lies well before the end.
			for _, nth := range points(crashPoints(), max(1, total[role].Load()*3/4)) {
				var seen atomic.Int64
				h := start(t, s, func(spec *Spec) {
					spec.Intercept = func(r messages.Actor, msg any) {
						if r == role && seen.Add(1) == nth {
							panic(fmt.Sprintf("injected into %s at message %d, a %T", r, nth, msg))
						}
					}
				})
				h.check(subs, h.read(h.submit(subs...), len(subs)))
				if seen.Load() < nth {
					t.Errorf("%s got %d messages, none crashed at %d", role, seen.Load(), nth)
				}
				h.checkBalance()
				h.stop()
			}
		})
	}
	goroutinesBack(t, base)
}

func TestFailedStepsAreNoticedByNobody(t *testing.T) {
	subs := prompts(24)
	for _, kind := range []fakemodel.FaultKind{fakemodel.FailStep, fakemodel.PanicStep} {
		t.Run(kind.String(), func(t *testing.T) {
			for _, step := range points(crashPoints(), 100) {
				h := start(t, cramped, nil)
				h.model.Inject(fakemodel.Fault{Step: int(step), Every: 40, Kind: kind})
				h.check(subs, h.read(h.submit(subs...), len(subs)))
				h.checkBalance()
				h.stop()
			}
		})
	}
}

// A panic of the supervisor itself: before it has started an epoch, while it ends
// one, and after its effects.
func TestAPanicOfTheSupervisorIsInvisible(t *testing.T) {
	for _, at := range []string{"reset", "quiesce", "meter"} {
		t.Run(at, func(t *testing.T) {
			var crashed atomic.Int64
			h := start(t, cramped, func(spec *Spec) {
				x := &shaky{Executor: spec.Members[0].Executor.(*fakemodel.Executor), at: at}
				spec.Members[0].Executor, spec.Meter = x, x
				spec.Intercept = func(r messages.Actor, msg any) {
					if m, ok := msg.(*messages.RunBatch); ok && m.Step == 3 && crashed.Add(1) <= 2 {
						panic("to need the supervisor")
					}
				}
			})
			subs := prompts(16)
			h.check(subs, h.read(h.submit(subs...), len(subs)))
			h.checkBalance()
		})
	}
}

// shaky is an executor and meter that panic the first time in one place.
type shaky struct {
	*fakemodel.Executor
	at string
	mu sync.Mutex
	n  map[string]int
}

func (s *shaky) shake(where string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == nil {
		s.n = map[string]int{}
	}
	if s.n[where]++; where == s.at && s.n[where] == 1 {
		panic("injected into " + where)
	}
}

func (s *shaky) Reset(ready func(messages.RequestID)) {
	s.shake("reset")
	s.Executor.Reset(ready)
}

func (s *shaky) Quiesce(done func()) {
	s.shake("quiesce")
	s.Executor.Quiesce(done)
}

func (s *shaky) Record(m messages.Metric, _ float64) {
	if m == messages.EpochsStarted {
		s.shake("meter")
	}
}

func TestADeviceThatIsGoneEndsTheProcess(t *testing.T) {
	h := start(t, plain, nil)
	h.model.Inject(fakemodel.Fault{Step: 2, Kind: fakemodel.StickyStep})
	h.submit(prompts(3)...)
	if err := <-h.fatal; err == nil {
		t.Error("no reason given")
	}
	if h.Ready() {
		t.Error("a dead engine says that it is ready")
	}
}

// A step that never ends keeps the device from becoming quiet once anything else
// ends the epoch.
func TestAHungDeviceEndsTheProcess(t *testing.T) {
	var hung atomic.Bool
	h := start(t, plain, func(spec *Spec) {
		spec.Backoff.Quiesce = 20 * time.Millisecond
		spec.Intercept = func(r messages.Actor, _ any) {
			if r == messages.Queue && hung.Load() {
				panic("to end the epoch")
			}
		}
	})
	h.gone = true
	h.model.Inject(fakemodel.Fault{Step: 2, Kind: fakemodel.HangStep})
	h.submit(prompts(3)[2:]...)
	eventually(t, "the second step", func() bool { return h.model.Submitted() == 2 })
	hung.Store(true)
	h.submit(prompts(1)...)
	if err := <-h.fatal; err == nil {
		t.Error("no reason given")
	}
}

// The watchdog ends the epoch when nothing else does. After a step that ends late
// everything continues; after one that never ends the process ends.
func TestTheWatchdogEndsTheEpochOfAHungDevice(t *testing.T) {
	var mu sync.Mutex
	var now time.Duration
	var timers []func() // of the watchdog
	late := make(chan func(), 1)
	h := start(t, plain, func(spec *Spec) {
		spec.Watchdog = time.Hour
		spec.Clock = func() time.Duration { mu.Lock(); defer mu.Unlock(); return now }
		spec.After = func(d time.Duration, f func()) {
			if d < time.Minute { // pauses between epochs
				go f()
				return
			}
			mu.Lock()
			defer mu.Unlock()
			timers = append(timers, f)
		}
		spec.Members[0].Executor = &tardy{Executor: spec.Members[0].Executor.(*fakemodel.Executor), late: late, at: 3, released: make(chan struct{})}
	})
	subs := prompts(3)
	events := h.submit(subs...)
	release := <-late
	mu.Lock()
	now = time.Hour
	fire := timers[len(timers)-1]
	mu.Unlock()
	fire()
	eventually(t, "the epoch to end", func() bool { return !h.Ready() })
	release()
	h.check(subs, h.read(events, len(subs)))
	h.checkBalance()
}

// tardy keeps one step from being computed until it is released, and is not
// quiet before.
type tardy struct {
	*fakemodel.Executor
	late     chan func()
	at       int
	held     atomic.Bool
	released chan struct{}
}

func (s *tardy) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	if s.Submitted() != s.at-1 || s.held.Swap(true) {
		s.Executor.Submit(b, done)
		return
	}
	s.late <- func() {
		s.Executor.Submit(b, func(d *messages.BatchDone, err error) {
			done(d, err)
			close(s.released)
		})
	}
}

func (s *tardy) Quiesce(done func()) {
	go func() {
		<-s.released
		s.Executor.Quiesce(done)
	}()
}

// checkBalance counts every page when nothing runs: all are free or in the cache,
// unlocked. Right after the last client's end some are still in transfer, and an
// epoch that is just ending does not answer.
func (h *harness) checkBalance() {
	h.t.Helper()
	eventually(h.t, "every page to come back", func() bool {
		a := h.audit()
		if a == nil {
			return false
		}
		all := h.fake.Pages * (1 + len(h.more))
		if !a.OK || !a.Count.Balanced() || a.Count.Total > all || a.Count.Total%h.fake.Pages != 0 {
			h.t.Fatalf("the audit says %+v", *a)
		}
		return a.Count.Total == all && a.Count.Leased+a.Count.Protected+a.Count.InTransfer == 0
	})
}
