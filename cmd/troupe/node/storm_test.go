package node

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/messages"
)

// storm makes one actor after the other panic, or the device fail, each time after some
// progress since the previous crash. It spares requests in quarantine, which would end.
type storm struct {
	mu       sync.Mutex
	victims  []messages.Actor // in this order; Client means the device
	progress int              // results with tokens since the last crash
	crashes  int
	sick     map[messages.RequestID]bool // in quarantine, no token since
}

// calmBefore is the number of results with tokens before the next crash.
const calmBefore = 2

// panics are two rounds of every actor; deviceErrors four of the device.
func panics() *storm {
	s := &storm{}
	for range 2 {
		s.victims = append(s.victims, messages.Intake, messages.Runner, messages.Cache, messages.Queue, messages.Former, messages.Allocator)
	}
	return s
}

func deviceErrors() *storm {
	return &storm{victims: []messages.Actor{messages.Client, messages.Client, messages.Client, messages.Client}}
}

// strikes reports whether this victim is next.
func (s *storm) strikes(role messages.Actor) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.victims) == 0 || len(s.sick) > 0 || s.victims[0] != role || s.progress < calmBefore {
		return false
	}
	s.victims, s.progress = s.victims[1:], 0
	s.crashes++
	return true
}

func (s *storm) intercept(role messages.Actor, msg any) {
	s.watch(msg)
	if s.strikes(role) {
		panic(fmt.Sprintf("injected into %s on %T", role, msg))
	}
}

// watch follows the progress of requests.
func (s *storm) watch(msg any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := msg.(type) {
	case *messages.EnqueueRequests:
		for _, r := range m.Requests {
			if r.Alone {
				s.sick[r.ID] = true
			}
		}
	case *messages.StepResults:
		if len(m.Tokens) > 0 {
			s.progress++
		}
		for _, t := range m.Tokens {
			delete(s.sick, t.ID)
		}
	}
}

// into adds the storm to an engine.
func (s *storm) into(spec *engine.Spec) {
	s.sick = map[messages.RequestID]bool{}
	spec.Intercept = s.intercept
	for i := range spec.Members {
		spec.Members[i].Executor = failing{spec.Members[i].Executor, s}
	}
	spec.Backoff = engine.Backoff{Base: time.Microsecond, Cap: time.Microsecond}
}

// failing is an executor whose steps fail, after they have run, in a storm.
type failing struct {
	runner.Executor
	storm *storm
}

func (f failing) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	f.Executor.Submit(b, func(result *messages.BatchDone, err error) {
		if err == nil && f.storm.strikes(messages.Client) {
			result, err = nil, errors.New("injected device error")
		}
		done(result, err)
	})
}
