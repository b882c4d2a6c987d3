package testserver

import (
	"slices"
	"sync"

	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/messages"
)

// gate wraps an executor and can hold its steps, so that a test decides when the
// engine continues.
type gate struct {
	runner.Executor
	mu     sync.Mutex
	closed bool
	held   []func()
	steps  int // submitted so far
	marks  []mark
}

// mark is a number of steps that a test waits for.
type mark struct {
	steps   int
	reached chan struct{}
}

// at returns a channel that is closed when a number of steps was submitted.
func (g *gate) at(steps int) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := mark{steps, make(chan struct{})}
	g.marks = append(g.marks, m)
	g.tell()
	return m.reached
}

// tell closes the channels of reached marks.
func (g *gate) tell() {
	g.marks = slices.DeleteFunc(g.marks, func(m mark) bool {
		if g.steps < m.steps {
			return false
		}
		close(m.reached)
		return true
	})
}

// Submit implements runner.Executor.
func (g *gate) Submit(batch *messages.RunBatch, done func(*messages.BatchDone, error)) {
	g.mu.Lock()
	g.steps++
	g.tell()
	if g.closed {
		g.held = append(g.held, func() { g.Executor.Submit(batch, done) })
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	g.Executor.Submit(batch, done)
}

// hold holds all steps from now on.
func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// pass lets the held steps through, but not later ones.
func (g *gate) pass() { g.release(true) }

// passOne lets the oldest of the held steps through.
func (g *gate) passOne() {
	g.mu.Lock()
	var submit func()
	if len(g.held) > 0 {
		submit, g.held = g.held[0], g.held[1:]
	}
	g.mu.Unlock()
	if submit != nil {
		submit()
	}
}

// open lets the held steps through and also later ones.
func (g *gate) open() { g.release(false) }

func (g *gate) release(closed bool) {
	g.mu.Lock()
	held := g.held
	g.closed, g.held = closed, nil
	g.mu.Unlock()
	for _, submit := range held {
		submit()
	}
}
