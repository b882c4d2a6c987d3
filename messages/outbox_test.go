package messages

import (
	"slices"
	"testing"
)

// What a core sends belongs to its incarnation, whichever actor reads it. What it sends
// on, or uses again, is not written to: its readers may still look at it.
func TestSendsAreStamped(t *testing.T) {
	own := Header{Engine: 2, Epoch: 3}
	out := Outbox{Own: own}
	out.ToCache(&LockPrefixes{Plan: 1})
	out.ToQueue(&FinishRequests{Header: Header{Engine: 9, Epoch: 9}})
	out.ToIntake(&DrainIntake{}) // has no header
	out.After(1, &WatchdogDue{})
	if m := out.Sends[0].Msg.(*LockPrefixes); m.Header != own {
		t.Errorf("a new message has %+v", m.Header)
	}
	if m := out.Sends[1].Msg.(*FinishRequests); m.Epoch != 9 {
		t.Errorf("a message that was sent on has %+v", m.Header)
	}
	if m := out.Timers[0].Msg.(*WatchdogDue); m.Header != own {
		t.Errorf("a timer has %+v", m.Header)
	}
	out.Reset()
	if out.Own != own {
		t.Errorf("after Reset the outbox is of %+v", out.Own)
	}
}

func TestAccepts(t *testing.T) {
	own := Header{Engine: 1, Epoch: 5}
	for _, c := range []struct {
		name string
		own  Header
		msg  any
		want bool
	}{
		{"its own", own, &BatchDone{Header: own}, true},
		{"an older epoch", own, &BatchDone{Header: Header{Engine: 1, Epoch: 4}}, false},
		{"a later epoch", own, &BatchDone{Header: Header{Engine: 1, Epoch: 6}}, false},
		{"another engine", own, &BatchDone{Header: Header{Epoch: 5}}, false},
		{"never stamped", own, &BatchDone{}, false},
		{"a message without a header", own, &DrainIntake{}, true},
		{"a core that outlives epochs", Header{}, &StepResults{Header: own}, true},
	} {
		out := Outbox{Own: c.own}
		if got := out.Accepts(c.msg); got != c.want {
			t.Errorf("%s: accepted %t", c.name, got)
		}
		if counted := slices.Contains(out.Readings, Reading{StaleMessages, 1}); counted == c.want {
			t.Errorf("%s: counted as stale: %t", c.name, counted)
		}
	}
}
