package httpapi

import (
	"testing"
)

// A reader that does not read gets the newest frame later, and holds up nobody.
func TestASlowReaderGetsTheNewestFrame(t *testing.T) {
	var b board
	runs := 0
	started := make(chan struct{})
	run := func() { runs++; started <- struct{}{} }
	slow := b.join(run)
	<-started
	quick := b.join(run)
	for _, frame := range []string{"1", "2", "3"} {
		b.publish([]byte(frame))
		if got := <-quick; string(got) != frame {
			t.Errorf("the quick reader got %s, want %s", got, frame)
		}
	}
	if got := <-slow; string(got) != "3" || len(slow) > 0 {
		t.Errorf("the slow reader got %s, and has %d more", got, len(slow))
	}
	// One run at a time: it ends after the last reader, unless another one comes before.
	b.leave(slow)
	b.leave(quick)
	again := b.join(run)
	if !b.wait(t.Context()) || runs != 1 {
		t.Errorf("%d runs", runs)
	}
	b.leave(again)
	if b.wait(t.Context()) {
		t.Error("the run goes on without readers")
	}
	b.leave(b.join(run))
	if <-started; runs != 2 {
		t.Errorf("%d runs", runs)
	}
}
