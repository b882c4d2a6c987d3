package engine

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/actors/observer"
	"github.com/troupe-engine/troupe/actors/roster"
	"github.com/troupe-engine/troupe/messages"
)

// operated is an engine whose actors are counted.
func operated(t *testing.T, change func(*Spec)) (*harness, *roster.Roster) {
	r := roster.New(nil)
	h := start(t, plain, func(s *Spec) {
		s.Roster, s.Chaos = r, true
		if change != nil {
			change(s)
		}
	})
	<-h.Started()
	return h, r
}

func paths(r *roster.Roster) (list []string) {
	for _, a := range r.Actors() {
		list = append(list, a.Path)
	}
	return list
}

// Every actor can be restarted while requests run: no answer differs, and nothing has failed.
func TestOperatorsRestartActors(t *testing.T) {
	h, r := operated(t, func(s *Spec) { s.Observer, s.Cache.Events = &observer.Options{}, true })
	for _, path := range paths(r) {
		subs := prompts(40)
		events := h.submit(subs...)
		before := h.Epoch()
		text, err := h.RestartActor(t.Context(), path, "an operator asked: a test")
		switch {
		case path == "engine":
			if err == nil {
				t.Errorf("the root was restarted: %s", text)
			}
		case err != nil:
			t.Errorf("%s: %v", path, err)
		case strings.HasPrefix(path, "engine/supervisor"):
			if h.Epoch() != before+1 || !strings.Contains(text, "ended; epoch") {
				t.Errorf("%s: %q, epoch %d after %d", path, text, h.Epoch(), before)
			}
		case h.Epoch() != before || !strings.Contains(text, path+" restarted"):
			t.Errorf("%s: %q, epoch %d after %d", path, text, h.Epoch(), before)
		}
		h.check(subs, h.read(events, len(subs)))
	}
	if last := r.LastFailure(); last != nil {
		t.Errorf("%+v", last)
	}
	for _, path := range []string{"engine/supervisor/former", "engine/intake"} {
		if a := r.Find(path); a == nil || r.Restarts() == 0 {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if _, err := h.RestartActor(t.Context(), "engine/cook", ""); err == nil {
		t.Error("an actor that is not there was restarted")
	}
}

// With several engines, dispatch starts over, and all of them with it, without a failure.
func TestOperatorsRestartDispatch(t *testing.T) {
	r := roster.New(nil)
	s := plain
	s.engines = 2
	h := start(t, s, func(s *Spec) { s.Roster = r })
	<-h.Started()
	subs := prompts(40)
	events := h.submit(subs...)
	if text, err := h.RestartActor(t.Context(), "engine/dispatch", "an operator asked"); err != nil || !strings.Contains(text, "submitted again") {
		t.Errorf("%q %v", text, err)
	}
	if text, err := h.RestartActor(t.Context(), "engine/supervisor-1/cache", "an operator asked"); err != nil || !strings.Contains(text, "engine/supervisor-1 ended") {
		t.Errorf("%q %v", text, err)
	}
	h.check(subs, h.read(events, len(subs)))
	if last := r.LastFailure(); last != nil {
		t.Errorf("%+v", last)
	}
}

// Every actor panics when it is asked to, idle or not, and no answer differs.
func TestEveryActorCrashes(t *testing.T) {
	var mu sync.Mutex
	var failed []string
	r := roster.New(func(path, _ string, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, path)
	})
	h := start(t, plain, func(s *Spec) {
		s.Roster, s.Chaos, s.Observer, s.Cache.Events = r, true, &observer.Options{}, true
	})
	<-h.Started()
	for _, busy := range []bool{true, false} {
		for _, path := range paths(r) {
			var events chan messages.CallEvent
			subs := prompts(20)
			if busy {
				events = h.submit(subs...)
			}
			entry := r.Find(path)
			before := entry.LastFailure()
			entry.Crash("a test")
			if err := until(t.Context(), func() bool { h.Nudge(path); return entry.LastFailure() != before }); err != nil {
				t.Fatal(err)
			}
			if cause := entry.LastFailure().Cause; !strings.Contains(cause, "a test") {
				t.Errorf("%s: %s", path, cause)
			}
			if busy {
				h.check(subs, h.read(events, len(subs)))
			}
			if err := until(t.Context(), h.Ready); err != nil {
				t.Fatal(err)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(failed) < 2*len(paths(r)) {
		t.Errorf("only %d failures: %v", len(failed), failed)
	}
}

// An engine on hold computes nothing; its requests go on after it.
func TestHoldAndRelease(t *testing.T) {
	h, r := operated(t, nil)
	subs := prompts(30)
	events := h.submit(subs...)
	if err := h.Hold(t.Context(), "an operator asked"); err != nil {
		t.Fatal(err)
	}
	if h.Ready() {
		t.Error("it is ready")
	}
	for _, a := range r.Actors() {
		if epoch := strings.HasPrefix(a.Path, "engine/supervisor/"); epoch != (a.State == "stopped") {
			t.Errorf("%s is %s", a.Path, a.State)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := h.RestartActor(ctx, "engine/supervisor/former", "another operator"); err == nil {
		t.Error("an epoch has begun")
	}
	if err := h.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.check(subs, h.read(events, len(subs)))
	for _, a := range r.Actors() {
		if a.State == "stopped" {
			t.Errorf("%s is %s", a.Path, a.State)
		}
	}
}

// After too many epochs without a token the owner is told, and one token is enough.
func TestBarrenEngine(t *testing.T) {
	told := make(chan struct{}, 100)
	var notices sync.Map
	h, _ := operated(t, func(s *Spec) {
		s.OnBarren = func() { told <- struct{}{} }
		s.OnNotice = func(path, text string) { notices.Store(path+": "+text[:7], true) }
	})
	for range Barren {
		if h.Barren() {
			t.Fatal("it is barren too soon")
		}
		before := h.Epoch()
		h.system.Root.Send(h.members[0].pid, &messages.FailEpoch{From: messages.Cache, Cause: "boom"})
		if err := until(t.Context(), func() bool { return h.Epoch() > before }); err != nil {
			t.Fatal(err)
		}
	}
	<-told
	if !h.Barren() || h.Fruitful() {
		t.Error("it is not barren")
	}
	subs := prompts(1)
	h.check(subs, h.read(h.submit(subs...), 1))
	if !h.Fruitful() {
		t.Error("it has computed no token")
	}
	before := h.Epoch()
	h.system.Root.Send(h.members[0].pid, &messages.FailEpoch{Cause: "boom"})
	if err := until(t.Context(), func() bool { return h.Epoch() > before }); err != nil {
		t.Fatal(err)
	}
	if h.Barren() || len(told) > 0 {
		t.Error("a token does not count")
	}
	if _, ok := notices.Load("engine/supervisor/cache: epoch 1"); !ok {
		t.Error("nobody was told of the end of an epoch")
	}
}
