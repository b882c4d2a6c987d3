package engine

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

func newLifecycle() *lifecycle { return &lifecycle{opt: Backoff{}.withDefaults()} }

func TestAnEpochEndsInOrder(t *testing.T) {
	l, out := newLifecycle(), &messages.Outbox{}
	if do := l.step(0, &messages.EpochDue{}, out); !do.start || l.epoch != 1 {
		t.Fatalf("first epoch: %+v, epoch %d", do, l.epoch)
	}
	fail := &messages.FailEpoch{Header: messages.Header{Epoch: 1}, Cause: "boom", Suspects: []messages.RequestID{7}}
	if do := l.step(1, fail, out); !do.stop {
		t.Fatal("a failure must stop the children")
	}
	if do := l.step(1, &messages.FailEpoch{Header: messages.Header{Epoch: 1}, Cause: "echo"}, out); do.stop {
		t.Fatal("a second report of one epoch must not stop twice")
	}
	if do := l.step(2, &messages.DeviceQuiesced{Header: messages.Header{Epoch: 1}}, out); do != (effects{}) {
		t.Fatal("the device was not asked yet")
	}
	if do := l.step(2, childrenStopped{1}, out); !do.quiesce {
		t.Fatal("stopped children must be followed by the device")
	}
	out.Reset()
	l.step(3, &messages.DeviceQuiesced{Header: messages.Header{Epoch: 1}}, out)
	ended, ok := out.Sends[0].Msg.(*messages.EpochEnded)
	if !ok || ended.Cause != "boom" || !slices.Equal(ended.Suspects, []messages.RequestID{7}) {
		t.Fatalf("intake hears %+v", out.Sends[0].Msg)
	}
	if out.Timers[0].After != 10*time.Millisecond {
		t.Fatalf("pause %v", out.Timers[0].After)
	}
	if do := l.step(4, out.Timers[0].Msg, out); !do.start || l.epoch != 2 {
		t.Fatal("the next epoch must start")
	}
}

func TestPauseDoublesToItsCapAndForgets(t *testing.T) {
	l, now := newLifecycle(), time.Duration(0)
	var pauses []time.Duration
	cycle := func(stand time.Duration) {
		out := &messages.Outbox{}
		l.step(now, &messages.EpochDue{Header: messages.Header{Epoch: l.epoch}}, out)
		now += stand
		l.step(now, &messages.FailEpoch{Header: messages.Header{Epoch: l.epoch}}, out)
		l.step(now, childrenStopped{l.epoch}, out)
		out.Reset()
		l.step(now, &messages.DeviceQuiesced{Header: messages.Header{Epoch: l.epoch}}, out)
		pauses = append(pauses, out.Timers[0].After)
	}
	for range 12 {
		cycle(time.Millisecond)
	}
	cycle(10 * time.Second)
	ms := time.Millisecond
	want := []time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, 1280 * ms, 2560 * ms, 5000 * ms, 5000 * ms, 5000 * ms, 10 * ms}
	if !slices.Equal(pauses, want) {
		t.Fatalf("pauses %v", pauses)
	}
}

func TestADeadDeviceEndsTheProcess(t *testing.T) {
	for name, last := range map[string]any{"silent": &messages.QuiesceDue{Header: messages.Header{Epoch: 1}}, "sticky": nil} {
		l, out := newLifecycle(), &messages.Outbox{}
		l.step(0, &messages.EpochDue{}, out)
		l.step(0, &messages.FailEpoch{Header: messages.Header{Epoch: 1}, Cause: "xid 79", Sticky: last == nil}, out)
		do := l.step(0, childrenStopped{1}, out)
		if last != nil {
			do = l.step(0, last, out)
		}
		if do.fatal == "" || l.phase != dead {
			t.Errorf("%s: %+v in phase %d", name, do, l.phase)
		}
	}
}

// Any order of events keeps intake's view in turn and epochs apart.
func TestAnyOrderOfEventsKeepsTheInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLifecycle()
		standing, children := false, false
		for now := range time.Duration(rapid.IntRange(1, 60).Draw(t, "events")) {
			epoch := messages.Epoch(rapid.IntRange(0, int(l.epoch)+1).Draw(t, "epoch"))
			events := []any{&messages.EpochDue{Header: messages.Header{Epoch: epoch}}, &messages.FailEpoch{Header: messages.Header{Epoch: epoch}}, childrenStopped{epoch}, &messages.DeviceQuiesced{Header: messages.Header{Epoch: epoch}}}
			out := &messages.Outbox{}
			do := l.step(now, rapid.SampledFrom(events).Draw(t, "event"), out)
			if do.start {
				if children {
					t.Fatal("two epochs stand at once")
				}
				children = true
			}
			if do.quiesce {
				children = false
			}
			for _, s := range out.Sends {
				switch m := s.Msg.(type) {
				case *messages.EpochStarted:
					if standing || m.Epoch != l.epoch {
						t.Fatal("EpochStarted out of turn")
					}
					standing = true
				case *messages.EpochEnded:
					if !standing || children {
						t.Fatal("EpochEnded out of turn")
					}
					standing = false
				}
			}
		}
	})
}

// cycle ends the epoch of a lifecycle and returns what was asked for after it.
func endEpoch(l *lifecycle, fail *messages.FailEpoch) (ended *messages.EpochEnded, timers []messages.Timer) {
	out := &messages.Outbox{}
	l.step(0, fail, out)
	l.step(0, childrenStopped{l.epoch}, out)
	out.Reset()
	l.step(0, &messages.DeviceQuiesced{Header: l.header()}, out)
	return out.Sends[0].Msg.(*messages.EpochEnded), out.Timers
}

// An operator's restart suspects nobody, has no pause, and does not wait for one.
func TestAPlannedEndIsNoFailure(t *testing.T) {
	l, out := newLifecycle(), &messages.Outbox{}
	l.step(0, &messages.EpochDue{}, out)
	ended, timers := endEpoch(l, &messages.FailEpoch{Cause: "an operator asked", Planned: true})
	if ended.Suspects != nil || timers[0].After != 0 || l.failures != 0 || l.barren != 0 {
		t.Errorf("%+v, a pause of %v, %d failures", ended, timers[0].After, l.failures)
	}
	l.step(0, timers[0].Msg, out)
	_, timers = endEpoch(l, &messages.FailEpoch{Cause: "boom"})
	if timers[0].After == 0 {
		t.Fatal("a failure has no pause")
	}
	if do := l.step(0, &messages.FailEpoch{Planned: true}, out); !do.start || l.epoch != 3 {
		t.Errorf("in a pause: %+v, epoch %d", do, l.epoch)
	}
	if do := l.step(0, timers[0].Msg, out); do != (effects{}) {
		t.Errorf("the end of the pause that was cut short: %+v", do)
	}
}

// Held epochs do not begin, whenever the operator asked for it.
func TestHeldEpochsWait(t *testing.T) {
	hold := &messages.FailEpoch{Cause: "an operator asked", Planned: true, Hold: true}
	for _, at := range []string{"running", "stopping", "quiescing", "pausing"} {
		l, out := newLifecycle(), &messages.Outbox{}
		if do := l.step(0, &messages.StartEpochs{}, out); do.start {
			t.Fatal("what is not held was started")
		}
		l.step(0, &messages.EpochDue{}, out)
		step := func(phase string, event any) {
			if at == phase {
				l.step(0, hold, out)
			}
			if l.phase == running || phase != "running" || at != "running" {
				l.step(0, event, out)
			}
		}
		step("running", &messages.FailEpoch{Cause: "boom"})
		step("stopping", childrenStopped{1})
		step("quiescing", &messages.DeviceQuiesced{Header: l.header()})
		step("pausing", &messages.EpochDue{Header: l.header()})
		if l.phase != pausing || l.epoch != 1 {
			t.Errorf("held while %s: phase %d of epoch %d", at, l.phase, l.epoch)
		}
		if do := l.step(0, &messages.StartEpochs{}, out); !do.start || l.epoch != 2 {
			t.Errorf("held while %s, then started: %+v", at, do)
		}
	}
}

// Epochs without a token are counted until one has a token.
func TestBarrenEpochs(t *testing.T) {
	l := newLifecycle()
	for i, c := range []struct {
		token, planned bool
		want           int
	}{{want: 1}, {want: 2}, {planned: true, want: 2}, {want: 3}, {token: true, want: 0}, {want: 1}, {token: true, planned: true, want: 0}} {
		l.step(0, &messages.EpochDue{Header: l.header()}, &messages.Outbox{})
		l.token = c.token
		endEpoch(l, &messages.FailEpoch{Planned: c.planned})
		if l.barren != c.want {
			t.Errorf("after epoch %d: %d", i+1, l.barren)
		}
	}
}
