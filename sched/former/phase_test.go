package former

import (
	"testing"

	"github.com/troupe-engine/troupe/testkit/invariantstest"
)

func TestPhases(t *testing.T) {
	for _, path := range [][]phase{
		{offering, locking, committing, resting},
		{offering, settling, resting, committing, resting},
		{locking, failed}, {flushing, resting}, {committing, failed},
	} {
		p := resting
		for _, next := range path {
			p.to(next)
			if p != next {
				t.Errorf("the phase is %s, want %s", p, next)
			}
		}
	}
	for _, edge := range [][2]phase{{committing, locking}, {locking, offering}, {flushing, committing}, {failed, resting}, {resting, resting}} {
		p := edge[0]
		invariantstest.MustFail(t, "the batch former goes from "+edge[0].String()+" to "+edge[1].String(), func() { p.to(edge[1]) })
	}
	p := resting
	if p.close(); p != resting {
		t.Error("closing at rest changes the phase")
	}
}
