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
