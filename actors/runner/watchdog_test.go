package runner

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

const patience = time.Minute

// guarded is a scene with a watchdog, in virtual time.
type guarded struct {
	*scene
	t      *testing.T
	timers []time.Duration // that were set, by when they go off
	failed []*messages.FailEpoch
}

func newWatched(t *testing.T) *guarded {
	s := newScene()
	s.core.watchdog = watchdog{timeout: patience}
	return &guarded{scene: s, t: t}
}

// at passes a message to the runner at a time and carries out its effects.
func (w *guarded) at(now time.Duration, msg messages.ToRunner) {
	w.t.Helper()
	w.out.Reset()
	w.Handle(now, msg, &w.out)
	for _, timer := range w.out.Timers {
		if m := timer.Msg.(*messages.WatchdogDue); m.Epoch != 3 {
			w.t.Errorf("a timer of epoch %d", m.Epoch)
		}
		w.timers = append(w.timers, now+timer.After)
	}
	for _, send := range w.out.Sends {
		if send.To != messages.Supervisor {
			w.t.Errorf("it sent %T to %s", send.Msg, send.To)
		}
		w.failed = append(w.failed, send.Msg.(*messages.FailEpoch))
	}
}

// launch submits a step of two rows; open says that they get their requests.
func (w *guarded) launch(now time.Duration, step messages.StepID, open bool) {
	b := &messages.RunBatch{Header: messages.Header{Epoch: 3}, Step: step, Work: []messages.RowWork{{Row: 4, Count: 1}, {Row: 7, Count: 1}}}
	if open {
		b.Opened = []messages.RowOpened{{Row: 4, Request: &messages.EngineRequest{ID: 40}}, {Row: 7, Request: &messages.EngineRequest{ID: 70}}}
	}
	w.at(now, b)
	// The sender uses its message again as soon as the step is done.
	w.t.Cleanup(func() { clear(b.Work) })
}

// end completes the step that runs.
func (w *guarded) end(now time.Duration, err error) {
	w.now = now
	w.complete(err)
}

func (w *guarded) due(now time.Duration) {
	w.at(now, &messages.WatchdogDue{Header: messages.Header{Epoch: 3}})
}

func TestAStepThatNeverEndsFailsTheEpoch(t *testing.T) {
	w := newWatched(t)
	w.launch(time.Second, 1, true)
	if want := []time.Duration{time.Second + patience}; !slices.Equal(w.timers, want) {
		t.Fatalf("timers %v, want %v", w.timers, want)
	}
	w.due(time.Second + patience)
	if len(w.failed) != 1 {
		t.Fatalf("%d failures", len(w.failed))
	}
	f := w.failed[0]
	if f.Epoch != 3 || f.From != messages.Runner || f.Sticky || !slices.Equal(f.Suspects, []messages.RequestID{40, 70}) {
		t.Errorf("it failed with %+v", f)
	}
	for _, part := range []string{"step 1", "requests: 2", "1m0s", "watchdog-timeout"} {
		if !strings.Contains(f.Cause, part) {
			t.Errorf("the cause %q does not tell %s", f.Cause, part)
		}
	}
	if i := slices.Index(w.out.Readings, messages.Reading{Metric: messages.WatchdogTimeouts, Value: 1}); i < 0 {
		t.Error("the metric was not recorded")
	}
	// Once, whatever comes after it, and nothing more is computed.
	w.due(10 * patience)
	w.end(20*patience, nil)
	w.launch(20*patience, 2, false)
	w.due(30 * patience)
	if len(w.failed) != 1 || len(w.timers) != 1 {
		t.Errorf("%d failures, timers %v", len(w.failed), w.timers)
	}
	w.submitted(t, 1)
}

// However many steps, there is one timer, and it finds nothing as long as each
// ends in time.
func TestStepsInTimeAreNoMatter(t *testing.T) {
	w := newWatched(t)
	now, fired := time.Duration(0), 0
	const each = patience / 7
	for step := messages.StepID(1); step <= 100; step++ {
		w.launch(now, step, step == 1)
		if len(w.timers) > fired+1 {
			t.Fatalf("%d timers are out at once", len(w.timers)-fired)
		}
		now += each
		for fired < len(w.timers) && w.timers[fired] <= now {
			fired++
			w.due(w.timers[fired-1])
		}
		w.end(now, nil)
	}
	if len(w.failed) != 0 {
		t.Fatalf("it failed: %+v", w.failed[0])
	}
	if most := int(100*each/(patience-each)) + 2; len(w.timers) > most || fired < 10 {
		t.Errorf("%d timers for 100 steps, want at most %d; %d fired", len(w.timers), most, fired)
	}
	for range 2 { // the last one finds nothing under way
		w.due(now + patience)
	}
	if n := len(w.timers); n != fired+1 {
		t.Errorf("%d timers were set for an idle runner", n-fired-1)
	}
	// The next step has its whole time again.
	w.launch(10*now, 101, false)
	if last := w.timers[len(w.timers)-1]; last != 10*now+patience {
		t.Errorf("the timer of a step at %v goes off at %v", 10*now, last)
	}
}

// A timer counts for the step that is under way, from its own submission: also
// of one that had to wait for another.
func TestAnEarlyTimerIsSetAgain(t *testing.T) {
	w := newWatched(t)
	w.launch(0, 1, true)
	w.launch(time.Second, 2, false)
	w.end(patience/2, nil) // now the second runs
	w.due(patience)
	if want := []time.Duration{patience, patience * 3 / 2}; !slices.Equal(w.timers, want) || len(w.failed) != 0 {
		t.Fatalf("timers %v, want %v; %d failures", w.timers, want, len(w.failed))
	}
	w.due(patience * 3 / 2)
	if len(w.failed) != 1 || !strings.Contains(w.failed[0].Cause, "step 2") {
		t.Errorf("failures %+v", w.failed)
	}
}

func TestTheWatchdogIgnoresAFailedStep(t *testing.T) {
	w := newWatched(t)
	w.launch(0, 1, true)
	w.end(patience, errors.New("injected")) // the epoch is about to end by itself
	w.due(2 * patience)
	if len(w.failed) != 0 {
		t.Errorf("it failed after a failed step: %+v", w.failed[0])
	}
}

func TestNoWatchdogSetsNoTimer(t *testing.T) {
	w := newWatched(t)
	w.core.watchdog.timeout = 0
	w.launch(0, 1, true)
	if len(w.timers) != 0 {
		t.Errorf("timers %v", w.timers)
	}
}

// A step costs the watchdog no memory.
func TestWatchingAllocatesNothing(t *testing.T) {
	dog, out := watchdog{timeout: patience}, &messages.Outbox{}
	b := &messages.RunBatch{Work: make([]messages.RowWork, 256)}
	watch := func() { // two are in flight
		b.Step++
		dog.watch(0, b, max(b.Step, 2)-2, out)
	}
	for range 3 {
		watch()
	}
	if n := testing.AllocsPerRun(100, watch); n > 0 {
		t.Errorf("%v allocations per step", n)
	}
}
