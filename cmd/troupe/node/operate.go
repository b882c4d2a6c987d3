package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/messages"
)

// ErrRestart is the end of Serve when an operator wants the process to execute itself anew.
var ErrRestart = errors.New("an operator asked for a restart")

// settle is how long an action waits for its result.
const settle = 5 * time.Second

func refused(format string, args ...any) error {
	return &report.Error{Kind: report.Refused, Text: fmt.Sprintf(format, args...)}
}

// Act implements node.Process.
func (s *supervised) Act(ctx context.Context, a *report.Action, path string) (string, error) {
	cause := "an operator asked: " + a.Reason
	if path != "" {
		ctx, cancel := context.WithTimeout(ctx, settle)
		defer cancel()
		return s.restartActor(ctx, path, cause)
	}
	switch a.Action {
	case report.Drain:
		return s.drain(ctx, cause)
	case report.Undrain:
		return s.undrain(ctx)
	case report.Stop:
		return s.stop(ctx, cause)
	case report.Start:
		return s.start(ctx)
	case report.Restart:
		return s.restartProcess(ctx, cause)
	}
	return "", refused("%s is not possible for nodes", a.Action)
}

// engineOf is the engine, or intake and dispatch of a model, that an actor belongs to.
func (s *supervised) engineOf(path string) (of *engine.Engine) {
	longest := -1
	for _, e := range s.engines() {
		if e.Has(path) && len(e.Name()) > longest {
			of, longest = e, len(e.Name())
		}
	}
	return of
}

// engines are all of the process, also while it starts.
func (s *supervised) engines() (list []*engine.Engine) {
	if g := s.node.cluster; g != nil {
		for _, r := range g.all() {
			list = append(list, r.Engine)
		}
	}
	if core := s.core.Load(); core != nil {
		list = append(list, core)
	}
	return list
}

func (s *supervised) restartActor(ctx context.Context, path, cause string) (string, error) {
	if e := s.engineOf(path); e != nil && path != e.Name() {
		return e.RestartActor(ctx, path, cause)
	}
	if g := s.node.cluster; g != nil && strings.HasPrefix(path, "cluster/") {
		return g.RestartLink(ctx, path, cause)
	}
	return "", refused("actor %s cannot be restarted on its own; restart node %s", path, s.name)
}

// Nudge implements node.Process.
func (s *supervised) Nudge(path string) {
	if e := s.engineOf(path); e != nil {
		e.Nudge(path)
	}
}

// leave takes the engine out of service, and says what that came to. The caller holds service.
func (s *supervised) leave(ctx context.Context, state, cause string) (string, error) {
	g, core := s.node.cluster, s.core.Load()
	if g == nil {
		return "", nil
	}
	if core == nil {
		g.SetState(state)
		return "", nil
	}
	moved := s.node.Meter.Value(messages.RequestsRunning) + s.node.Meter.Value(messages.RequestsWaiting)
	links, err := g.Withdraw(ctx, state, cause)
	if err != nil {
		return "", err
	}
	g.unlink(cause)
	text := fmt.Sprintf("; %s to gateways ended", count(links, "link", "links"))
	if moved > 0 {
		text += fmt.Sprintf(", so %s elsewhere", count(int(moved), "request continues", "requests continue"))
	}
	return text, nil
}

// count says how many.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// backInService puts the engine back into service. The caller holds service.
func (s *supervised) backInService() {
	s.setState(report.Ready)
	if g := s.node.cluster; g != nil {
		g.SetState(report.Ready)
		g.offerAgain()
	}
}

func (s *supervised) setAndRecord(state, text string) {
	s.setState(state)
	s.record(report.Event{Kind: report.EventState, Text: text})
}

func (s *supervised) drain(ctx context.Context, cause string) (string, error) {
	s.service.Lock()
	defer s.service.Unlock()
	if state := s.State(); state == report.Draining || state == report.Stopped {
		return fmt.Sprintf("node %s is already %s", s.name, state), nil
	}
	text, err := s.leave(ctx, report.Draining, cause)
	if err != nil {
		return "", err
	}
	s.setAndRecord(report.Draining, fmt.Sprintf("node %s is draining: %s", s.name, cause))
	if s.node.cluster == nil || s.node.Config().Cluster.HasGateway() {
		return fmt.Sprintf("node %s takes no new requests; %s%s", s.name, count(s.open(), "open one goes on", "open ones go on"), text), nil
	}
	return fmt.Sprintf("node %s takes no new requests%s", s.name, text), nil
}

func (s *supervised) undrain(ctx context.Context) (string, error) {
	s.service.Lock()
	defer s.service.Unlock()
	switch state := s.State(); state {
	case report.Ready:
		return fmt.Sprintf("node %s is already ready", s.name), nil
	case report.Stopped:
		return "", refused("node %s is stopped; use troupe cluster start", s.name)
	}
	if err := s.release(ctx); err != nil {
		return "", err
	}
	s.backInService()
	s.setAndRecord(report.Ready, fmt.Sprintf("node %s is ready again", s.name))
	return fmt.Sprintf("node %s takes new requests again", s.name), nil
}

// open is the number of requests of clients that have not ended at this node.
func (s *supervised) open() (n int) {
	g := s.node.cluster
	if g == nil {
		return int(s.node.Meter.Value(messages.RequestsOpen))
	}
	for _, r := range g.all() {
		n += int(r.meter.Value(messages.RequestsOpen))
	}
	return n
}

// finish waits until no request of a client is open, and aborts the rest when
// drain-timeout expires.
func (s *supervised) finish(ctx context.Context) (aborted int, err error) {
	limit, cancel := context.WithTimeout(ctx, s.node.Config().DrainTimeout)
	defer cancel()
	if s.waitClosed(limit) {
		return 0, nil
	}
	aborted = s.open()
	for _, e := range s.node.fronts() {
		e.Send(&messages.AbortRequests{All: true, ShuttingDown: true})
	}
	limit, cancel = context.WithTimeout(ctx, abortGrace)
	defer cancel()
	s.waitClosed(limit) // what is left has no client that reads
	return aborted, ctx.Err()
}

func (s *supervised) waitClosed(ctx context.Context) bool {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for s.open() > 0 {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// drainAndWait drains the node and waits for the end of its requests.
func (s *supervised) drainAndWait(ctx context.Context, cause string) (string, error) {
	if state := s.State(); state != report.Draining && state != report.Stopped {
		if _, err := s.drain(ctx, cause); err != nil {
			return "", err
		}
	}
	aborted, err := s.finish(ctx)
	if err != nil {
		return "", err
	}
	if aborted > 0 {
		return fmt.Sprintf("; %s not end within drain-timeout and got an error", count(aborted, "request did", "requests did")), nil
	}
	return "; its requests have moved or ended", nil
}

func (s *supervised) stop(ctx context.Context, cause string) (string, error) {
	if s.State() == report.Stopped {
		return fmt.Sprintf("node %s is already stopped", s.name), nil
	}
	text, err := s.drainAndWait(ctx, cause)
	if err != nil {
		return "", err
	}
	s.service.Lock()
	defer s.service.Unlock()
	if err := s.hold(ctx, cause); err != nil {
		return "", err
	}
	if g := s.node.cluster; g != nil {
		g.SetState(report.Stopped)
	}
	s.setAndRecord(report.Stopped, fmt.Sprintf("node %s has stopped: %s", s.name, cause))
	return fmt.Sprintf("node %s has stopped%s; its process goes on, and troupe cluster start makes it ready again", s.name, text), nil
}

// hold stops the actors of the engine's epoch. The caller holds service.
func (s *supervised) hold(ctx context.Context, cause string) error {
	core := s.core.Load()
	if core == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	s.held = true // also if they stop later
	if err := core.Hold(ctx, cause); err != nil {
		return fmt.Errorf("the actors of the engine have not stopped yet; stop node %s again, or undrain it: %w", s.name, err)
	}
	return nil
}

// release ends hold, and waits until an epoch has begun. The caller holds service.
func (s *supervised) release(ctx context.Context) error {
	if !s.held {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	if err := s.core.Load().Release(ctx); err != nil {
		return fmt.Errorf("no epoch of the engine has begun yet; try again in a moment: %w", err)
	}
	s.held = false
	return nil
}

func (s *supervised) start(ctx context.Context) (string, error) {
	if s.State() != report.Stopped {
		return s.undrain(ctx)
	}
	begun := time.Now()
	s.service.Lock()
	defer s.service.Unlock()
	if err := s.release(ctx); err != nil {
		return "", err
	}
	s.backInService()
	s.setAndRecord(report.Ready, fmt.Sprintf("node %s is ready again", s.name))
	return fmt.Sprintf("node %s is ready again after %v", s.name, time.Since(begun).Round(time.Millisecond)), nil
}

func (s *supervised) restartProcess(ctx context.Context, cause string) (string, error) {
	if !s.node.opt.CanRestart {
		return "", refused("node %s cannot restart its own process on this platform; stop the process and start it again", s.name)
	}
	text, err := s.drainAndWait(ctx, cause)
	if err != nil {
		return "", err
	}
	select {
	case s.restart <- struct{}{}:
	default: // it is under way
	}
	return fmt.Sprintf("node %s restarts its process now%s", s.name, text), nil
}
