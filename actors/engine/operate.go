package engine

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/messages"
)

// Barren is how many epochs in a row without a token are too many.
const Barren = 5

// restartChild asks the root to restart a child on its state.
type restartChild struct{ pid *actor.PID }

// nudge is a message that the root ignores.
type nudge struct{}

// trip panics if an operator wants the supervisor to crash.
func (m *member) trip() {
	if m.spec.Chaos {
		m.spec.Roster.Entry(m.pid.Id, messages.Supervisor.String()).Trip()
	}
}

// Name is that of the root.
func (e *Engine) Name() string { return e.spec.Name }

// Has reports whether a path is that of an actor of this engine.
func (e *Engine) Has(path string) bool {
	return path == e.spec.Name || strings.HasPrefix(path, e.spec.Name+"/")
}

// Epoch is the newest epoch of any member.
func (e *Engine) Epoch() (newest uint32) {
	for _, m := range e.members {
		newest = max(newest, m.epoch.Load())
	}
	return newest
}

// Barren reports whether every member has had Barren epochs in a row without a token.
func (e *Engine) Barren() bool {
	least := int32(math.MaxInt32)
	for _, m := range e.members {
		least = min(least, m.barren.Load())
	}
	return least >= Barren && len(e.members) > 0
}

// Fruitful reports whether a member has computed a token in its present epoch.
func (e *Engine) Fruitful() bool {
	for _, m := range e.members {
		if m.token.Load() && m.ready.Load() {
			return true
		}
	}
	return false
}

// RestartActor restarts the actor of a path and says what that did. For an actor of an
// epoch, and for its supervisor, the epoch ends, and the next one begins at once.
func (e *Engine) RestartActor(ctx context.Context, path, cause string) (string, error) {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, e.spec.Name+"/"), "/")
	for i, m := range e.members {
		if first == supervisorName(i) {
			return m.restartEpoch(ctx, cause)
		}
	}
	switch first {
	case messages.Intake.String(), messages.Observer.String():
		text, err := e.restartChild(ctx, path)
		if err == nil {
			text += " and has kept its state"
		}
		return text, err
	case messages.Dispatch.String(), messages.Portal.String():
		e.planned.Store(&cause)
		text, err := e.restartChild(ctx, path)
		if err == nil {
			text += "; its requests were submitted again"
		}
		return text, err
	}
	return "", fmt.Errorf("actor %s cannot be restarted", path)
}

// restartChild restarts an actor that outlives the epochs, and waits until it has.
func (e *Engine) restartChild(ctx context.Context, path string) (string, error) {
	entry := e.spec.Roster.Entry(path, "")
	before, begun := entry.Begun(), time.Now()
	e.system.Root.Send(e.root, &restartChild{e.system.NewLocalPID(path)})
	err := until(ctx, func() bool { return entry.Begun() > before })
	if err != nil {
		return "", fmt.Errorf("actor %s has not restarted yet: %w", path, err)
	}
	return fmt.Sprintf("actor %s restarted after %v", path, time.Since(begun).Round(time.Millisecond)), nil
}

// restartEpoch ends the epoch, without suspects and without a pause.
func (m *member) restartEpoch(ctx context.Context, cause string) (string, error) {
	before, begun := m.epoch.Load(), time.Now()
	m.system.Root.Send(m.pid, &messages.FailEpoch{Cause: cause, From: messages.Supervisor, Planned: true})
	if err := until(ctx, func() bool { return m.epoch.Load() > before && m.ready.Load() }); err != nil {
		return "", fmt.Errorf("epoch %d of %s has been ended, but the next one has not begun yet: %w", before, m.pid.Id, err)
	}
	return fmt.Sprintf("epoch %d of %s ended; epoch %d began after %v", before, m.pid.Id, m.epoch.Load(), time.Since(begun).Round(time.Millisecond)), nil
}

// Hold ends the epochs of all members, and none follow until Release. It waits until their
// actors have stopped.
func (e *Engine) Hold(ctx context.Context, cause string) error {
	for _, m := range e.members {
		e.system.Root.Send(m.pid, &messages.FailEpoch{Cause: cause, From: messages.Supervisor, Planned: true, Hold: true})
	}
	return until(ctx, func() bool {
		for _, m := range e.members {
			if !m.idle.Load() {
				return false
			}
		}
		return true
	})
}

// Release ends a Hold and waits until an epoch has begun.
func (e *Engine) Release(ctx context.Context) error {
	for _, m := range e.members {
		e.system.Root.Send(m.pid, &messages.StartEpochs{})
	}
	return until(ctx, e.Ready)
}

// Nudge sends an actor a message that changes nothing, so that one that is idle looks
// whether it is to crash.
func (e *Engine) Nudge(path string) {
	send := func(msg any) { e.system.Root.Send(e.system.NewLocalPID(path), msg) }
	const nobody = math.MaxUint16
	rest := strings.TrimPrefix(path, e.spec.Name+"/")
	switch rest {
	case e.spec.Name:
		send(&nudge{})
		return
	case messages.Intake.String():
		send(&messages.DropCall{Call: math.MaxUint64})
		return
	case messages.Observer.String():
		send(&messages.DropSubscription{ID: math.MaxUint64})
		return
	case messages.Dispatch.String():
		send(&messages.EngineReported{Header: messages.Header{Engine: nobody}})
		return
	case messages.Portal.String():
		send(&messages.GatewayLeft{Gateway: nobody})
		return
	}
	for i, m := range e.members {
		role, ok := strings.CutPrefix(rest, supervisorName(i)+"/")
		if rest == supervisorName(i) {
			send(&messages.EpochDue{})
		} else if ok {
			m.nudge(role)
		}
	}
}

// nudge sends an actor of the epoch a message of no epoch, which it only counts.
func (m *member) nudge(role string) {
	stale := map[messages.Actor]any{
		messages.Runner: &messages.WatchdogDue{}, messages.Allocator: &messages.AuditSlots{}, messages.Cache: &messages.AuditSlots{},
		messages.Former: &messages.AuditSlots{}, messages.Queue: &messages.FinishRequests{},
	}
	for _, r := range epochRoles {
		if r.String() == role {
			m.system.Root.Send(m.childPID(r, messages.Epoch(m.epoch.Load())), stale[r])
		}
	}
}

// until waits for a condition.
func until(ctx context.Context, ok func() bool) error {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
