package httpapi

import (
	"context"
	"testing"
)

// A reader that does not read gets the newest frame later, and holds up nobody.
func TestASlowReaderGetsTheNewestFrame(t *testing.T) {
	var b board
	var loop context.Context
	started := make(chan struct{}, 2)
	start := func(ctx context.Context) { loop = ctx; started <- struct{}{} }
	slow := b.join(start)
	<-started
	quick := b.join(start)
	for _, frame := range []string{"1", "2", "3"} {
		b.publish(loop, []byte(frame))
		if got := <-quick; string(got) != frame {
			t.Errorf("the quick reader got %s, want %s", got, frame)
		}
	}
	if got := <-slow; string(got) != "3" || len(slow) > 0 {
		t.Errorf("the slow reader got %s, and has %d more", got, len(slow))
	}
	// A loop that was ended does not write among the frames of the next one.
	old := loop
	b.leave(slow)
	b.leave(quick)
	if old.Err() == nil {
		t.Fatal("the loop goes on without readers")
	}
	again := b.join(start)
	<-started
	b.publish(old, []byte("old"))
	if len(again) > 0 {
		t.Errorf("a reader got %s", <-again)
	}
	b.leave(again)
}
