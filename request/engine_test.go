package request

import (
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// An epoch starts once and ends once, whatever else is late, and its results
// count from its start to its end or to FailEpoch.
func TestEngineStartsAndEndsOncePerEpoch(t *testing.T) {
	var g engine
	epoch := func(n messages.Epoch) messages.Header { return messages.Header{Epoch: n} }
	expects := func(n messages.Epoch, seq uint64) bool {
		return g.expects(&messages.StepResults{Header: epoch(n), Seq: seq})
	}
	end := func(n messages.Epoch) bool {
		_, ok := g.end(epoch(n))
		return ok
	}
	for i, step := range []struct {
		what     string
		do       func() bool
		want     bool
		up, open bool // afterwards
	}{
		{"epoch 1 starts", func() bool { return g.start(epoch(1)) }, true, true, true},
		{"it starts again", func() bool { return g.start(epoch(1)) }, false, true, true},
		{"its first results", func() bool { return expects(1, 1) }, true, true, true},
		{"results of the next epoch", func() bool { return expects(2, 1) }, false, true, true},
		{"results 1 are accepted", func() bool { g.seq = 1; return expects(1, 1) }, false, true, true},
		{"the epoch fails", func() bool { g.failed = true; return expects(1, 2) }, false, true, false},
		{"a request is isolated in it", func() bool { g.isolated = 7; id, ok := g.end(epoch(1)); return ok && id == 7 && g.isolated == 0 }, true, false, false},
		{"it ends again", func() bool { return end(1) }, false, false, false},
		{"it starts late", func() bool { return g.start(epoch(1)) }, false, false, false},
		{"epoch 2 ends before its start was heard of", func() bool { return end(2) }, true, false, false},
		{"its start comes late", func() bool { return g.start(epoch(2)) }, false, false, false},
		{"epoch 3 starts and counts from 1", func() bool { return g.start(epoch(3)) && expects(3, 1) && !g.failed }, true, true, true},
		{"epoch 2 ends again", func() bool { return end(2) }, false, true, true},
		{"epoch 5 starts without the end of 3", func() bool { return g.start(epoch(5)) }, true, true, true},
		{"epoch 3 ends late", func() bool { return end(3) }, false, true, true},
	} {
		if got := step.do(); got != step.want || g.up != step.up || g.answers() != step.open {
			t.Fatalf("%d, %s: %t with %+v, want %t, up %t, answers %t", i, step.what, got, g, step.want, step.up, step.open)
		}
	}
}
