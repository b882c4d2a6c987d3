// Package seeded runs actors in an order that a seed determines.
//
// With the runtime's own dispatcher, the order in which actors handle their
// messages depends on the machine. Here every mailbox offers one message at a time to
// one Scheduler, which draws the next one at random; devices, clients and timers take
// part in the same draw. So a run is a function of its seed, and a failure can be
// replayed.
//
// # Concurrency properties
//
//   - Everything runs on the goroutine that calls Turn, one thing at a time.
//   - Mailboxes, Schedule, After and Now are safe on any goroutine; the seed
//     does not determine the order of calls from goroutines other than Turn's.
//   - Messages to one actor are handled in the order of sending, and system
//     messages go first, as in the runtime's own mailbox.
package seeded

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Scheduler is an actor.Dispatcher and the clock beside it. Construct it with
// New.
type Scheduler struct {
	mu      sync.Mutex
	rnd     *rand.Rand
	ready   []*lane // in the order of their creation, so that a draw depends only on which are ready
	sources []*source
	lanes   int // made so far
	timers  []timer
	now     time.Duration
	turns   int
}

var _ actor.Dispatcher = (*Scheduler)(nil)

// lane is an actor, source or timer that takes turns; it is in ready at most once.
type lane struct {
	serial int
	weight int
	run    func()
}

// source is a lane that is ready whenever its condition holds.
type source struct {
	lane
	holds func() bool
}

// timer is a lane that is ready from a time on.
type timer struct {
	at   time.Duration
	lane *lane
}

const timerWeight = 4

// weights are the speeds of lanes: equal ones would hide what happens when one lane
// lags far behind.
var weights = []int{1, 4, 30}

// New makes a scheduler at time zero.
func New(seed uint64) *Scheduler {
	return &Scheduler{rnd: rand.New(rand.NewPCG(seed, 0x5eeded))}
}

// Props makes an actor take its turns here.
func (s *Scheduler) Props() []actor.PropsOption {
	return []actor.PropsOption{actor.WithDispatcher(s), actor.WithMailbox(s.Mailbox)}
}

// Schedule implements actor.Dispatcher: fn gets one turn.
func (s *Scheduler) Schedule(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes++
	s.ready = append(s.ready, &lane{s.lanes, 1, fn})
}

// Throughput implements actor.Dispatcher.
func (s *Scheduler) Throughput() int { return 1 }

// Add makes run take turns whenever holds is true, with a weight compared with others; an
// actor's is 1, 4 or 30. Both are called on Turn's goroutine.
func (s *Scheduler) Add(weight int, holds func() bool, run func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes++
	s.sources = append(s.sources, &source{lane{s.lanes, weight, run}, holds})
}

// After gives f a turn after d. Every turn takes a microsecond; when no lane is ready,
// time jumps to the next timer.
func (s *Scheduler) After(d time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes++
	s.timers = append(s.timers, timer{s.now + d, &lane{s.lanes, timerWeight, f}})
}

// Now is the virtual time.
func (s *Scheduler) Now() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Turns is the number of turns so far.
func (s *Scheduler) Turns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns
}

// Turn gives one ready lane a turn. It reports false when no lane is ready and no
// timer is left.
func (s *Scheduler) Turn() bool {
	run := s.next()
	if run == nil {
		return false
	}
	run()
	return true
}

// next draws the next lane.
func (s *Scheduler) next() func() {
	var open []*lane
	for _, src := range s.sources { // they can call the scheduler, so not under the lock
		if src.holds() {
			open = append(open, &src.lane)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready)+len(open) == 0 {
		s.leap()
	}
	s.ring()
	total := 0
	for _, l := range s.ready {
		total += l.weight
	}
	for _, l := range open {
		total += l.weight
	}
	if total == 0 {
		return nil
	}
	s.turns++
	s.now += time.Microsecond
	n := s.rnd.IntN(total)
	for i, l := range s.ready {
		if n -= l.weight; n < 0 {
			s.ready = slices.Delete(s.ready, i, i+1)
			return l.run
		}
	}
	for _, l := range open {
		if n -= l.weight; n < 0 {
			return l.run
		}
	}
	return nil
}

// leap moves time to the earliest timer.
func (s *Scheduler) leap() {
	if len(s.timers) == 0 {
		return
	}
	first := slices.MinFunc(s.timers, func(a, b timer) int { return cmp.Compare(a.at, b.at) })
	s.now = max(s.now, first.at)
}

// ring makes the timers that are due ready.
func (s *Scheduler) ring() {
	s.timers = slices.DeleteFunc(s.timers, func(t timer) bool {
		if t.at > s.now {
			return false
		}
		s.enter(t.lane)
		return true
	})
}

// wake makes a mailbox's lane ready.
func (s *Scheduler) wake(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enter(l)
}

func (s *Scheduler) enter(l *lane) {
	at, _ := slices.BinarySearchFunc(s.ready, l, func(a, b *lane) int { return a.serial - b.serial })
	s.ready = slices.Insert(s.ready, at, l)
}

// newLane makes a lane of a random weight.
func (s *Scheduler) newLane(run func()) *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes++
	return &lane{s.lanes, weights[s.rnd.IntN(len(weights))], run}
}
